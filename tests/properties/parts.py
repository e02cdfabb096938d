"""What it means for two linear models to be the same."""

import numpy as np

from modae import LinearModularAutoencoder


def fitted(rows, params, **options):
    return LinearModularAutoencoder(**params).fit(rows, **options)


def assert_same_facts(model, other, factor=1.0, tolerance=1e-9):
    """The same optimum, of data ``factor`` times as large: nothing that signs or ties decide."""
    variance = factor**2 * other.total_variance_
    for name in ("total_variance_", "loss_", "lower_bound_", "eigenvalues_"):
        one, two = getattr(model, name), factor**2 * getattr(other, name)
        np.testing.assert_allclose(one, two, rtol=0, atol=tolerance * variance, err_msg=name)
    # Shares are roots of what the variances say, so they have half of the digits.
    np.testing.assert_allclose(
        model.allocation_, other.allocation_, rtol=0, atol=np.sqrt(tolerance), err_msg="allocation_"
    )


def mean_reconstruction(model, rows):
    """Of all modules together: one matrix for all optimal sets of modules, if no eigenvalues tie."""
    return model.inverse_transform(model.transform(rows))
