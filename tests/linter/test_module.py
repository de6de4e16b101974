"""Facts of a module: classes, functions, bindings, names, roles, and which function a call reaches."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from moelint.linter.analysis.lookup import Lookup, fields
from moelint.linter.analysis.module import Function, Module, bindings, dotted_name, statements, terminal_name
from moelint.linter.profile import Profile
from moelint.linter.source import Source


def parse(text: str, path: str = "a.py", profile: Profile | None = None) -> Module:
    text = dedent(text)
    return Module(Source(path, text.encode()), ast.parse(text), profile or Profile("none"))


def by_name(module: Module, qualname: str) -> Function:
    return next(function for function in module.functions if function.qualname == qualname)


def expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def call_in(function: Function) -> ast.Call:
    """The first call of a function whose callee is called `target` or is bound to it."""
    return next(node for node in ast.walk(function.node) if isinstance(node, ast.Call))


def test_functions_and_classes_are_found_at_any_depth() -> None:
    module = parse(
        """
        def top():
            def inner():
                pass

        if FLAG:
            class A:
                def method(self):
                    class B:
                        def deep(self):
                            pass
        else:
            async def other():
                pass
        """
    )
    assert [function.qualname for function in module.functions] == [
        "top", "top.inner", "A.method", "A.method.B.deep", "other",
    ]  # fmt: skip
    assert list(module.classes) == ["A", "A.method.B"]
    inner = by_name(module, "top.inner")
    assert inner.outer is by_name(module, "top") and inner.outermost is by_name(module, "top")
    assert by_name(module, "A.method.B.deep").outer is None


def test_attributes_come_from_methods_and_class_bodies_in_order() -> None:
    module = parse(
        """
        class A:
            x = 1

            def __init__(self, a):
                self.x, self.y = a, [a]
                self.z: int = a
                self.u, self.v = a()
                other.w = a

            def late(this):
                this.x = 3
        """
    )
    attributes = {name: [ast.unparse(v) for v in values] for name, values in module.classes["A"].attributes.items()}
    assert attributes == {"x": ["1", "a", "3"], "y": ["[a]"], "z": ["a"], "u": ["a()"], "v": ["a()"]}


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("a = b", ["a=b"]),
        ("a = b = c", ["a=c", "b=c"]),
        ("a: int = b", ["a=b"]),
        ("a: int", []),
        ("a, b = c, d", ["a=c", "b=d"]),
        ("(a, (b, c)) = d, (e, f)", ["a=d", "b=e", "c=f"]),
        ("a, b = c", ["a=c", "b=c"]),
        ("a, *b = c, d", ["a=(c, d)", "b=(c, d)"]),
        ("self.a, b[0] = c, d", ["self.a=c", "b[0]=d"]),
        ("a += b", []),
    ],
)
def test_bindings(statement: str, expected: list[str]) -> None:
    found = [f"{ast.unparse(target)}={ast.unparse(value)}" for target, value in bindings(ast.parse(statement).body[0])]
    assert found == expected


def test_definitions_list_what_a_function_binds_itself() -> None:
    module = parse(
        """
        def f(a):
            x = a
            if (y := a):
                x = 2
            def g():
                z = 3
        """
    )
    found = {name: [ast.unparse(v) for v in values] for name, values in module.definitions(module.functions[0]).items()}
    assert found == {"x": ["a", "2"], "y": ["a"]}


def test_a_constant_is_a_name_that_is_bound_once() -> None:
    module = parse(
        """
        ONE = 1
        try:
            import fast
            HAS = True
        except ImportError:
            HAS = False
        TWICE = 1
        TWICE = 2
        TWICE = 3
        """
    )
    assert list(module.constants) == ["ONE"]


def test_statements_do_not_enter_nested_functions() -> None:
    body = ast.parse(
        "a\nif b:\n    c\nelse:\n    d\ndef f():\n    e\ntry:\n    g\nexcept E:\n    h\nfinally:\n    i"
    ).body
    found = [ast.unparse(s) for s in statements(body) if isinstance(s, ast.Expr)]
    assert found == ["a", "c", "d", "g", "i", "h"]


@pytest.mark.parametrize(
    ("text", "terminal", "dotted"),
    [("a", "a", "a"), ("a.b.c", "c", "a.b.c"), ("a.b()", "b", ""), ("a().b", "b", ""), ("a[0]", "", ""), ("1", "", "")],
)
def test_names(text: str, terminal: str, dotted: str) -> None:
    assert (terminal_name(expression(text)), dotted_name(expression(text))) == (terminal, dotted)


@pytest.mark.parametrize(
    ("use", "real"),
    [("short", "long_name"), ("mod", "mod"), ("mod.other", "other"), ("x.short", "short"), ("plain", "plain")],
)
def test_an_imported_name_is_known_by_its_own(use: str, real: str) -> None:
    module = parse("from a.b import long_name as short\nimport a.mod as mod")
    assert module.real_name(expression(use)) == real


def test_ancestry_is_nearest_first_and_survives_cycles() -> None:
    module = parse("class A(B): pass\nclass B(C, A): pass\nclass C: pass\nclass D(A, other.E): pass")
    assert [cls.name for cls in module.ancestry(module.classes["D"])] == ["D", "A", "B", "C"]


PROFILE = Profile(
    "p", packages=("pkg",), owner=("pkg.own",), leaf=("pkg.leaf.*", "pkg.mid.leaf.*"), method=("pkg.mid.*",)
)


@pytest.mark.parametrize(
    ("path", "name", "role"),
    [
        ("/x/pkg/own.py", "pkg.own", "owner"),
        ("/x/pkg/leaf/a.py", "pkg.leaf.a", "leaf"),
        ("pkg/mid/a.py", "pkg.mid.a", "method"),
        ("pkg/mid/leaf/a.py", "pkg.mid.leaf.a", "leaf"),
        ("pkg/a/__init__.py", "pkg.a", "client"),
        ("other/a.py", "other.a", "client"),
        ("pkg/pkg/own.py", "pkg.own", "owner"),
    ],
)
def test_the_role_follows_from_the_path(path: str, name: str, role: str) -> None:
    module = parse("", path, PROFILE)
    assert (module.name, module.role) == (name, role)


CALLS = """
def top(a, b=1, *, c=2, **rest):
    return a


class Base:
    def __init__(self, amount):
        self.amount = amount

    def forward(self, x):
        return x

    def helper(self, x, y):
        return x

    @staticmethod
    def plain(x):
        return x

    @classmethod
    def made(cls, x):
        return cls(x)


class Child(Base):
    def __init__(self, config):
        super().__init__(config.amount)
        self.inner = Base(1)

    def use(self, x, given: Base):
        {call}
"""


@pytest.mark.parametrize(
    ("call", "callee", "argument", "parameter"),
    [
        ("top(x)", "top", 0, "a"),
        ("top(1, x)", "top", 1, "b"),
        ("self.helper(1, x)", "Base.helper", 1, "y"),
        ("self.plain(x)", "Base.plain", 0, "x"),
        ("Base.plain(x)", "Base.plain", 0, "x"),
        ("Base.helper(self, x, 1)", "Base.helper", 1, "x"),
        ("Child.made(x)", "Base.made", 0, "x"),
        ("super().helper(x, 1)", "Base.helper", 0, "x"),
        ("Base(x)", "Base.__init__", 0, "amount"),
        ("Child(x)", "Child.__init__", 0, "config"),
        ("self.inner(x)", "Base.forward", 0, "x"),
        ("self.inner.helper(x, 1)", "Base.helper", 0, "x"),
        ("given.helper(x, 1)", "Base.helper", 0, "x"),
        ("self.unknown(x)", None, 0, None),
        ("other(x)", None, 0, None),
        ("other.top(x)", None, 0, None),
    ],
)
def test_the_function_that_a_call_reaches(call: str, callee: str | None, argument: int, parameter: str | None) -> None:
    module = parse(CALLS.format(call=call))
    function = by_name(module, "Child.use")
    node = call_in(function)
    found = Lookup(module).callee(node, function)
    assert (found.function.qualname if found else None) == callee
    assert (found.parameter(node, node.args[argument], None) if found else None) == parameter


def test_keywords_defaults_and_stars() -> None:
    module = parse(CALLS.format(call="top(x, c=x, d=x)"))
    function = by_name(module, "Child.use")
    node = call_in(function)
    callee = Lookup(module).callee(node, function)
    assert callee is not None
    assert [callee.parameter(node, k.value, k.arg) for k in node.keywords] == ["c", "rest['d']"]
    given = {name: callee.argument(node, name) for name in ("a", "b", "c", "missing")}
    assert {name: ast.unparse(value) if value else None for name, value in given.items()} == {
        "a": "x", "b": "1", "c": "x", "missing": None,
    }  # fmt: skip
    starred = ast.parse("top(*x)").body[0].value  # type: ignore[attr-defined]
    assert callee.parameter(starred, starred.args[0], None) is None
    assert callee.argument(starred, "a") is None


def test_nested_functions_come_before_those_of_the_module() -> None:
    module = parse(
        """
        def run(x):
            return x

        def outer(x):
            def run(y):
                return y
            return run(x)
        """
    )
    outer = by_name(module, "outer")
    found = Lookup(module).callee(call_in(outer), outer)
    assert found is not None and found.function.qualname == "outer.run"


def test_fields_of_a_record_with_its_bases() -> None:
    module = parse(
        """
        class Base:
            first: int
            second: int = 2

        class Record(Base):
            third: float
            second: int = 3

        class WithInit(Base):
            third: int
            def __init__(self): pass
        """
    )
    assert fields(module, module.classes["Record"]) == ["first", "second", "third"]
    assert fields(module, module.classes["WithInit"]) == []
