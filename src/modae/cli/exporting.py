"""``modae export``: a model that runs without Python."""

from __future__ import annotations

from pathlib import Path

from sklearn.compose import ColumnTransformer

from modae.cli.errors import Mistake, one_line
from modae.cli.models import load_model
from modae.cli.output import check_output
from modae.cli.talk import Report, size
from modae.files.api import load
from modae.onnx.api import export_onnx


def export_command(path: str, out: str) -> Report:
    """Write the model as ONNX; what ONNX cannot say is refused."""
    check_output(out, (".onnx",), (path,))
    model = load_model(path)
    try:
        export_onnx(load(path), out)
    except (TypeError, ValueError) as error:
        if isinstance(model.first, ColumnTransformer):
            raise Mistake(
                f"{path} cannot be written as ONNX: --encode and --impute find columns by name, and the "
                "rows of ONNX have no names: fit it without them, to a table of numbers without gaps."
            ) from error
        raise Mistake(f"{path} cannot be written as ONNX: {one_line(error)}") from error
    n_bytes = Path(out).stat().st_size
    report = Report(data={"command": "export", "model": path})
    report.say("written", f"{out} ({size(n_bytes)}): float32 rows in 'X'.", output=out, bytes=n_bytes)
    return report
