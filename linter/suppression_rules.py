"""The rules about suppression comments, documented like all others; `suppression_findings` sees the breaches."""

from __future__ import annotations

from collections.abc import Iterable

from moelint.linter.rule import Draft, Module, Rule


class _SuppressionRule(Rule):
    family = "suppression"
    tokens = (("moelint:",), ("noqa: MOE",), ("noqa:MOE",))
    roles = ("client", "owner", "method", "leaf")

    def check(self, module: Module) -> Iterable[Draft]:
        """Nothing: what these rules report is known only after all others have run."""
        return ()


class MalformedSuppression(_SuppressionRule):
    """Reports `# moelint:` comments that have another form than the one that is understood.

    ## What it does
    Reports a `# moelint:` comment without a rule in brackets, with an unknown word, with text that is not a reason
    after the bracket, or, where the configuration requires one, without a reason.

    ## Why is this bad?
    Such a comment hides nothing, while its reader believes that it does. There is no form that hides everything,
    because it would also hide what is found next year.

    ## Example
    ```python
    scale = 1.0  # moelint: ignore
    ```

    ## Use instead
    ```python
    scale = 1.0
    ```

    ## Limits
    Comments without the colon after `moelint` are not recognised at all.
    """

    code = "MOE901"
    help = "write `# moelint: ignore[RULE-NAME] -- reason`"

    @classmethod
    def name(cls) -> str:
        return "malformed-suppression"


class UnknownSuppression(_SuppressionRule):
    """Reports suppressions of rules that do not exist.

    ## What it does
    Reports a name or code in a `# moelint:` comment that no rule has.

    ## Why is this bad?
    The comment hides nothing. Most often the name is misspelt, or the rule was renamed.

    ## Example
    ```python
    scale = 1.0  # moelint: ignore[literal-fold-flg] -- the kernel wants one
    ```

    ## Use instead
    ```python
    scale = 1.0
    ```

    ## Limits
    Families are not accepted, only single rules.
    """

    code = "MOE902"
    help = "correct the name, or take it out"

    @classmethod
    def name(cls) -> str:
        return "unknown-suppression"


class UnusedSuppression(_SuppressionRule):
    """Reports suppressions that hide nothing.

    ## What it does
    Reports a rule in a `# moelint:` comment that finds nothing on the lines which the comment covers.

    ## Why is this bad?
    What the comment excused is gone. Left in place, it will hide the next mistake on that line, for a reason which
    no longer holds.

    ## Example
    ```python
    scale = 1.0  # moelint: ignore[literal-fold-flag] -- the kernel wants one
    ```

    ## Use instead
    ```python
    scale = 1.0
    ```

    ## Limits
    Silent about rules that are not selected in this run, that failed, or that are ignored in this file.
    """

    code = "MOE903"
    severity = "warning"
    help = "take the comment, or this name in it, out"

    @classmethod
    def name(cls) -> str:
        return "unused-suppression"


RULES: list[type[Rule]] = [MalformedSuppression, UnknownSuppression, UnusedSuppression]
