"""Reads OpenMetrics as strictly as its reference parser does: FILE."""

import pathlib
import sys

from prometheus_client.openmetrics.parser import text_string_to_metric_families

families = list(text_string_to_metric_families(pathlib.Path(sys.argv[1]).read_text()))
samples = sum(len(it.samples) for it in families)
assert all(it.documentation and it.type != "unknown" for it in families), families
print(f"openmetrics: {len(families)} families, {samples} samples, as the reference parser reads them")
