"""A first look, on the digits that scikit-learn ships: ``python -m modae.demo``."""

from __future__ import annotations

from modae.estimators.linear import LinearModularAutoencoder

DIVERSITIES = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)


def main() -> None:
    """Fit ten modules of five components, and show what diversity does to them."""
    from sklearn.datasets import load_digits

    X, _ = load_digits(return_X_y=True)
    model = LinearModularAutoencoder(n_modules=10, n_components=5, random_state=0).fit(X)
    print(f"{len(X):,} digits of {X.shape[1]} pixels, 10 modules of 5 components, diversity 0.5\n")
    print(f"  loss         {model.loss_:10.4f}   (mean over the rows)")
    print(f"  lower bound  {model.lower_bound_:10.4f}   no ten such modules can do better")
    print(f"  gap          {model.optimality_gap_:10.1e}   of the variance: {model.attainment_}\n")
    print("The same spectrum, solved for other diversities:\n")
    print(table(model))
    print("\nEach module gives up some of its own fit, and their mean gains: the modules")
    print("share out the principal components. At 0 all use the same five, at 1 they")
    print("cover fifty between them.")


def table(model: LinearModularAutoencoder) -> str:
    """Loss, gap, fit and use of the principal components over diversity, in under 80 columns."""
    lines = [
        "  diversity      loss       gap   explained by      explained by   components",
        "                                  one module (%)    the mean (%)   in use",
    ]
    for diversity, fitted in zip(DIVERSITIES, model.path(DIVERSITIES), strict=True):
        lines.append(
            f"  {diversity:9.1f} {fitted.loss_:9.3f} {abs(fitted.optimality_gap_):9.0e}"
            f"   {100 * fitted.explained_variance_ratio_.mean():14.1f}"
            f"    {100 * fitted.explained_variance_ratio_of_mean_:12.1f}"
            f"   {(fitted.allocation_ > 0).sum():10d}"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
