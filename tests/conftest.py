"""What pytest leaves out on an old Python."""

from __future__ import annotations

import sys

# The packages that ship the official schemas of SARIF and of workflow files need Python 3.11.
collect_ignore = [] if sys.version_info >= (3, 11) else ["linter/test_report_sarif.py", "house/test_ci_recipes.py"]
