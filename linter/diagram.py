"""Boolean functions over multi-valued variables, as hash-consed decision diagrams.

A variable takes one of an open set of values; a node lists the values that lead somewhere else than its default
branch, so that exclusive alternatives (platforms, back ends) need no axioms and a domain may grow at any time.
Two functions are equal if and only if their node numbers are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

Value = str | bool | int | None
Node = int

FALSE: Node = 0
TRUE: Node = 1
_TERMINAL = 1 << 30


class Diagrams:
    """A universe of variables and the functions over them. Variables are ordered by first use."""

    def __init__(self) -> None:
        self._index: dict[str, int] = {}
        self._names: list[str] = []
        self._nodes: list[tuple[int, tuple[tuple[Value, Node], ...], Node]] = [
            (_TERMINAL, (), FALSE),
            (_TERMINAL, (), TRUE),
        ]
        self._unique: dict[tuple[int, tuple[tuple[Value, Node], ...], Node], Node] = {}
        self._memo: dict[tuple[str, Node, Node], Node] = {}

    def __len__(self) -> int:
        return len(self._nodes)

    def variable(self, name: str) -> int:
        """The position of `name` in the order, which is created if it is new."""
        index = self._index.get(name)
        if index is None:
            index = self._index[name] = len(self._names)
            self._names.append(name)
        return index

    def literal(self, name: str, values: Iterable[Value] = (True,)) -> Node:
        """The function `name in values`."""
        return self._make(self.variable(name), dict.fromkeys(values, TRUE), FALSE)

    def conj(self, a: Node, b: Node) -> Node:
        return self._apply("and", a, b)

    def disj(self, a: Node, b: Node) -> Node:
        return self.neg(self.conj(self.neg(a), self.neg(b)))

    def neg(self, a: Node) -> Node:
        return self._apply("not", a, a)

    def ite(self, test: Node, then: Node, other: Node) -> Node:
        return self.disj(self.conj(test, then), self.conj(self.neg(test), other))

    def implies(self, a: Node, b: Node) -> bool:
        return self.conj(a, self.neg(b)) == FALSE

    def exists(self, a: Node, hidden: Callable[[str], bool]) -> Node:
        """Project out every variable whose name `hidden` accepts."""
        memo: dict[Node, Node] = {FALSE: FALSE, TRUE: TRUE}

        def go(node: Node) -> Node:
            done = memo.get(node)
            if done is None:
                var, edges, default = self._nodes[node]
                if hidden(self._names[var]):
                    done = go(default)
                    for _, child in edges:
                        done = self.disj(done, go(child))
                else:
                    done = self._make(var, {value: go(child) for value, child in edges}, go(default))
                memo[node] = done
            return done

        return go(a)

    def restrict(self, a: Node, assignment: Mapping[str, Value]) -> Node:
        """`a` with the named variables fixed."""
        memo: dict[Node, Node] = {FALSE: FALSE, TRUE: TRUE}

        def go(node: Node) -> Node:
            done = memo.get(node)
            if done is None:
                var, edges, default = self._nodes[node]
                name = self._names[var]
                if name in assignment:
                    done = go(dict(edges).get(assignment[name], default))
                else:
                    done = self._make(var, {value: go(child) for value, child in edges}, go(default))
                memo[node] = done
            return done

        return go(a)

    def support(self, a: Node) -> set[str]:
        """The names of the variables that `a` depends on."""
        seen: set[Node] = set()
        names: set[str] = set()
        stack = [a]
        while stack:
            node = stack.pop()
            if node in seen or node in (FALSE, TRUE):
                continue
            seen.add(node)
            var, edges, default = self._nodes[node]
            names.add(self._names[var])
            stack.append(default)
            stack.extend(child for _, child in edges)
        return names

    def cubes(self, a: Node) -> Iterator[dict[str, tuple[bool, tuple[Value, ...]]]]:
        """The paths to TRUE: variable -> (positive, values). A negative entry means "none of these values"."""
        if a == FALSE:
            return
        if a == TRUE:
            yield {}
            return
        var, edges, default = self._nodes[a]
        name = self._names[var]
        by_child: dict[Node, list[Value]] = {}
        for value, child in edges:
            by_child.setdefault(child, []).append(value)
        for child, values in by_child.items():
            for rest in self.cubes(child):
                yield {name: (True, tuple(values)), **rest}
        for rest in self.cubes(default):
            yield {name: (False, tuple(value for value, _ in edges)), **rest}

    def _make(self, var: int, edges: Mapping[Value, Node], default: Node) -> Node:
        kept = tuple(sorted(((v, c) for v, c in edges.items() if c != default), key=lambda e: repr(e[0])))
        if not kept:
            return default
        key = (var, kept, default)
        node = self._unique.get(key)
        if node is None:
            node = self._unique[key] = len(self._nodes)
            self._nodes.append(key)
        return node

    def _apply(self, op: str, a: Node, b: Node) -> Node:
        if op == "not":
            if a in (FALSE, TRUE):
                return TRUE - a
        elif FALSE in (a, b):
            return FALSE
        elif a == TRUE or a == b:
            return b
        elif b == TRUE:
            return a
        if a > b and op == "and":
            a, b = b, a
        key = (op, a, b)
        done = self._memo.get(key)
        if done is None:
            var_a, edges_a, default_a = self._nodes[a]
            var_b, edges_b, default_b = self._nodes[b]
            var = min(var_a, var_b)
            table_a = dict(edges_a) if var_a == var else {}
            table_b = dict(edges_b) if var_b == var else {}
            rest_a = default_a if var_a == var else a
            rest_b = default_b if var_b == var else b
            edges = {
                value: self._apply(op, table_a.get(value, rest_a), table_b.get(value, rest_b))
                for value in {*table_a, *table_b}
            }
            done = self._make(var, edges, self._apply(op, rest_a, rest_b))
            self._memo[key] = done
        return done
