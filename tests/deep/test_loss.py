"""The loss against the core, against loops, and against the paper's Proposition 2."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional

from modae.core.objective import output_terms
from modae.deep.loss import LossTerms, modular_loss
from strategies import diversities, seeds

LOSSES = ["squared_error", "huber", "cross_entropy"]


def problem(loss="squared_error", shape=(4, 6, 3), seed=0, dtype=torch.float64):
    """Outputs, far enough from the target that Huber's loss has both its pieces, and a target."""
    generator = torch.Generator().manual_seed(seed)
    outputs = 2.0 * torch.randn(shape, generator=generator, dtype=dtype)
    if loss == "cross_entropy":
        return outputs, torch.randint(shape[-1], shape[1:2], generator=generator)
    return outputs, torch.randn(shape[1:], generator=generator, dtype=dtype)


def slow_loss(loss, row, target):
    """The loss of one row of one module, from numbers."""
    row = row.flatten().tolist()
    if loss == "cross_entropy":
        return math.log(sum(math.exp(logit) for logit in row)) - row[int(target)]
    errors = [abs(a - b) for a, b in zip(row, target.flatten().tolist(), strict=True)]
    if loss == "squared_error":
        return sum(error**2 for error in errors)
    return sum(error**2 / 2 if error <= 1 else error - 0.5 for error in errors)


def slow_terms(loss, average, outputs, target):
    """Mean loss of the modules, and loss of the mean, of each row."""
    members, of_mean = [], []
    for r in range(outputs.shape[1]):
        members.append(np.mean([slow_loss(loss, module[r], target[r]) for module in outputs]))
        if loss == "cross_entropy" and average == "probability":
            chances = [math.exp(-slow_loss(loss, module[r], target[r])) for module in outputs]
            of_mean.append(-math.log(np.mean(chances)))
        else:
            of_mean.append(
                slow_loss(loss, sum(module[r] for module in outputs) / len(outputs), target[r])
            )
    return torch.tensor(members, dtype=torch.float64), torch.tensor(of_mean, dtype=torch.float64)


@pytest.mark.parametrize("diversity", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("average", ["probability", "logit"])
@pytest.mark.parametrize("loss", LOSSES)
def test_equals_loops(loss, average, diversity):
    outputs, target = problem(loss)
    members, of_mean = slow_terms(loss, average, outputs, target)
    terms = modular_loss(
        outputs, target, diversity, loss=loss, average=average, reduction="none", return_terms=True
    )
    expected = LossTerms((1 - diversity) * members + diversity * of_mean, members, of_mean)
    for got, wanted in zip(terms, expected, strict=True):
        torch.testing.assert_close(got, wanted, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("shape", [(3, 5), (3, 5, 2), (3, 5, 2, 4), (1, 1, 1)])
@pytest.mark.parametrize("loss", ["squared_error", "huber", lambda a, b: (a - b).abs()])
def test_any_shape_of_rows(loss, shape):
    outputs, target = problem(shape=shape)
    flat = modular_loss(outputs.reshape(*shape[:2], -1), target.reshape(shape[1], -1), 0.4, loss=loss)
    torch.testing.assert_close(modular_loss(outputs, target, 0.4, loss=loss), flat)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-6), (torch.float64, 1e-12)])
@pytest.mark.parametrize("error", [1.0, 1e-3])
@pytest.mark.parametrize("diversity", [0.0, 0.5, 0.9, 1.0])
def test_equals_the_core(diversity, error, dtype, tolerance):
    """Also where the errors are small beside the rows, and a formula with |F|^2 - 2 F y would cancel."""
    _, target = problem(shape=(8, 50, 30), dtype=dtype)
    outputs = target + error * problem(shape=(8, 50, 30), seed=1, dtype=dtype)[0]
    core = output_terms(outputs.double().numpy(), target.double().numpy())
    rows = modular_loss(outputs, target, diversity, reduction="none")
    np.testing.assert_allclose(
        rows.double().mean(), np.mean(core.ambiguity_loss(diversity)), rtol=tolerance
    )
    np.testing.assert_allclose(rows.double(), core.ambiguity_loss(diversity), rtol=10 * tolerance)
    mean = modular_loss(outputs, target, diversity)
    np.testing.assert_allclose(mean.double(), np.mean(core.loss(diversity)), rtol=tolerance)


@pytest.mark.parametrize("diversity", [0.0, 0.3, 1.0])
def test_gradient_is_proposition_2(diversity):
    outputs, target = problem()
    outputs.requires_grad_()
    modular_loss(outputs, target, diversity, reduction="sum").backward()
    members = outputs.detach()
    for i, own in enumerate(members):
        wanted = 2 / len(members) * ((own - target) - diversity * (own - members.mean(dim=0)))
        torch.testing.assert_close(outputs.grad[i], wanted, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("reduction", ["mean", "none"])
@pytest.mark.parametrize("loss", LOSSES)
def test_derivatives_equal_differences(loss, reduction):
    """First and second derivatives, of outputs and of targets that are learnt themselves."""
    outputs, target = problem(loss, shape=(3, 4, 2))
    inputs = [tensor.requires_grad_(tensor.is_floating_point()) for tensor in (outputs, target)]

    def value(outputs, target):
        return modular_loss(outputs, target, 0.3, loss=loss, reduction=reduction)

    assert torch.autograd.gradcheck(value, inputs)
    assert torch.autograd.gradgradcheck(value, inputs)


def test_a_gradient_can_be_taken_twice_over_one_graph():
    outputs, target = problem()
    outputs.requires_grad_()
    value = modular_loss(outputs, target, 0.3)
    first, second = (torch.autograd.grad(value, outputs, retain_graph=True)[0] for _ in range(2))
    assert torch.equal(first, second)


@given(seed=seeds, diversity=diversities, loss=st.sampled_from([*LOSSES, "logit"]))
def test_ambiguity_is_never_negative(seed, diversity, loss):
    average, loss = ("logit", "cross_entropy") if loss == "logit" else ("probability", loss)
    outputs, target = problem(loss, seed=seed % 2**31)
    terms = modular_loss(
        outputs, target, diversity, loss=loss, average=average, reduction="none", return_terms=True
    )
    slack = 1e-12 * (1.0 + terms.members)
    assert (terms.ambiguity >= -slack).all()
    assert (terms.of_mean - slack <= terms.loss).all()
    assert (terms.loss <= terms.members + slack).all()


@pytest.mark.parametrize("loss", LOSSES)
def test_limits(loss):
    """Diversity 0 is the mean loss of members, 1 that of the mean; equal members have no ambiguity."""
    outputs, target = problem(loss)
    zero, one = (modular_loss(outputs, target, lam, loss=loss, return_terms=True) for lam in (0.0, 1.0))
    assert zero.loss == zero.members == one.members
    assert one.loss == one.of_mean == zero.of_mean
    equal = modular_loss(outputs[:1].expand(4, -1, -1), target, 0.5, loss=loss, return_terms=True)
    torch.testing.assert_close(equal.members, equal.of_mean)


@pytest.mark.parametrize("loss", LOSSES)
def test_reductions(loss):
    outputs, target = problem(loss)
    rows = modular_loss(outputs, target, 0.3, loss=loss, reduction="none")
    assert rows.shape == (6,)
    torch.testing.assert_close(modular_loss(outputs, target, 0.3, loss=loss), rows.mean())
    torch.testing.assert_close(
        modular_loss(outputs, target, 0.3, loss=loss, reduction="sum"), rows.sum()
    )


def test_a_callable_may_be_a_loss_of_torch():
    """It gives what the named loss gives, and torch has no broadcasting to warn of."""
    outputs, target = problem()
    own = modular_loss(
        outputs, target, 0.3, loss=lambda a, b: functional.mse_loss(a, b, reduction="none")
    )
    torch.testing.assert_close(own, modular_loss(outputs, target, 0.3))


def test_cross_entropy_of_sure_and_wrong_members_is_finite():
    """Probabilities of e^-2000 are 0 in any float; their logarithms are not."""
    outputs = torch.tensor([[[2000.0, 0.0]], [[1990.0, 0.0]]])
    terms = modular_loss(outputs, torch.tensor([1]), 0.5, loss="cross_entropy", return_terms=True)
    wanted = 1990.0 + math.log(2.0) - math.log1p(math.exp(-10.0))
    torch.testing.assert_close(terms.of_mean.item(), wanted, rtol=1e-6, atol=0)
    assert terms.members.item() == 1995.0


def changed(**changes):
    outputs, target = problem()
    return {"outputs": outputs, "target": target, "diversity": 0.5, **changes}


CLASSES = {"loss": "cross_entropy"}

REFUSED = [
    (changed(diversity=1.5), "diversity must be .* got 1.5.*Theorem 1"),
    (changed(diversity=-0.1), "diversity must be .* got -0.1"),
    (changed(diversity=float("nan")), "diversity must be .* got nan"),
    (changed(loss="hinge"), "loss must be one of 'squared_error', .* got 'hinge'"),
    (changed(average="median"), "average must be one of .* got 'median'"),
    (changed(reduction="max"), "reduction must be one of .* got 'max'"),
    (changed(outputs=np.zeros((4, 6, 3))), "outputs must be a torch tensor of floats, got ndarray"),
    (changed(outputs=torch.zeros(4, 6, 3, dtype=torch.long)), "tensor of floats, got torch.int64"),
    (changed(outputs=torch.zeros(4)), r"\(n_modules, n_rows, ...\).* got \(4,\)"),
    (changed(outputs=torch.zeros(0, 6, 3)), r"at least one of each, got \(0, 6, 3\)"),
    (changed(target=torch.zeros(3)), r"target must have the shape .*\(6, 3\), got \(3,\)"),
    (changed(target=torch.zeros(6, 1)), r"target must have the shape .*\(6, 3\), got \(6, 1\)"),
    (changed(target=torch.zeros(4, 6, 3)), r"target must have the shape .* got \(4, 6, 3\)"),
    (changed(target=torch.zeros(6, 3)), "dtype of outputs, torch.float64, got torch.float32"),
    (changed(target=torch.zeros(6, 3, dtype=torch.long), **CLASSES), r"target of shape \(n_rows,\)"),
    (changed(target=torch.zeros(6), **CLASSES), "indices of classes .integers., got torch.float32"),
    (changed(target=torch.arange(6), **CLASSES), "from 0 to 2, got values from 0 to 5"),
    (changed(target=torch.full((6,), -100), **CLASSES), "from 0 to 2, got values from -100 to -100"),
    (changed(target=np.zeros((6, 3))), "target must be a torch tensor, got ndarray"),
    (changed(target=3.0), "target must be a torch tensor, got float"),
    (changed(loss=lambda a, b: 0.0), "loss must return a torch tensor, got float"),
    (
        # Every row against every other.
        changed(outputs=torch.zeros(1, 6, 1), target=torch.zeros(6), loss=lambda a, b: (a - b).square()),
        r"begins with \(1, 6\), got \(1, 6, 6\)",
    ),
    (changed(loss=functional.mse_loss), r"begins with \(4, 6\), got \(\).*`reduction`"),
    (
        changed(loss=functional.mse_loss, target=torch.zeros(5)),
        r"each of the 6 rows .* got shape \(5,\)",
    ),
]


@pytest.mark.parametrize(("arguments", "message"), REFUSED, ids=range(len(REFUSED)))
def test_errors_name_the_argument(arguments, message):
    with pytest.raises(ValueError, match=message):
        modular_loss(**arguments)
