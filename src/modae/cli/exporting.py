"""``modae export``: a model that runs without Python."""

from __future__ import annotations

from pathlib import Path

from modae.cli.errors import Mistake
from modae.cli.models import load_model
from modae.cli.output import check_output
from modae.cli.talk import Report, size
from modae.export.api import export_onnx
from modae.persistence.api import load


def export_command(path: str, out: str) -> Report:
    """Write the model as ONNX; what ONNX cannot say is refused."""
    check_output(out, (".onnx",), (path,))
    load_model(path)
    try:
        export_onnx(load(path), out)
    except (TypeError, ValueError) as error:
        raise Mistake(f"{path} cannot be written as ONNX: {error}") from error
    n_bytes = Path(out).stat().st_size
    report = Report(data={"command": "export", "model": path})
    report.say("written", f"{out} ({size(n_bytes)}): float32 rows in 'X'.", output=out, bytes=n_bytes)
    return report
