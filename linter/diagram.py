"""Boolean functions over multi-valued variables, as hash-consed decision diagrams.

A variable takes one of an open set of values; a node lists the values that lead somewhere else than its default
branch, so that exclusive alternatives (platforms, back ends) need no axioms and a domain may grow at any time.
Two functions are equal if and only if their node numbers are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

Value = str | bool | int | None
Node = int

FALSE: Node = 0
TRUE: Node = 1
_TERMINAL = 1 << 30

Cube = dict[str, tuple[bool, tuple[Value, ...]]]
"""A conjunction of literals: variable -> (positive, values). A negative entry means "none of these values"."""
DumpedNode = list[Any]
"""`[variable, [[value, position], ...], default position]`."""


class Diagrams:
    """A universe of variables and the functions over them. Variables are ordered by first use."""

    def __init__(self) -> None:
        self._index: dict[str, int] = {}
        self.names: list[str] = []
        self._value_ids: dict[Value, int] = {}
        self._values: list[Value] = []
        self._var: list[int] = [_TERMINAL, _TERMINAL]
        self._edges: list[tuple[tuple[int, Node], ...]] = [(), ()]
        self._default: list[Node] = [FALSE, TRUE]
        self._unique: dict[tuple[int, tuple[tuple[int, Node], ...], Node], Node] = {}
        self._and: dict[tuple[Node, Node], Node] = {}
        self._or: dict[tuple[Node, Node], Node] = {}
        self._meets: dict[tuple[Node, Node], bool] = {}
        self._not: dict[Node, Node] = {FALSE: TRUE, TRUE: FALSE}
        self._simple: dict[tuple[Node, Node], Node] = {}
        self._any: dict[Node, Node] = {}
        self._support: dict[Node, frozenset[int]] = {FALSE: frozenset(), TRUE: frozenset()}

    def __len__(self) -> int:
        return len(self._var)

    def variable(self, name: str) -> int:
        """The position of `name` in the order, which is created if it is new."""
        index = self._index.get(name)
        if index is None:
            index = self._index[name] = len(self.names)
            self.names.append(name)
        return index

    def literal(self, name: str, values: Iterable[Value] = (True,)) -> Node:
        """The function `name in values`."""
        distinct = dict.fromkeys(self._value_id(value) for value in values)
        return self._make(self.variable(name), [(value, TRUE) for value in distinct], FALSE)

    def neg(self, a: Node) -> Node:
        done = self._not.get(a)
        if done is None:
            edges = [(value, self.neg(child)) for value, child in self._edges[a]]
            done = self._make(self._var[a], edges, self.neg(self._default[a]))
            self._not[a] = done
            self._not[done] = a
        return done

    def conj(self, a: Node, b: Node) -> Node:
        if a == FALSE or b == FALSE:
            return FALSE
        if a == TRUE or a == b:
            return b
        if b == TRUE:
            return a
        key = (a, b) if a < b else (b, a)
        done = self._and.get(key)
        if done is None:
            done = self._and[key] = self._apply(self.conj, a, b)
        return done

    def disj(self, a: Node, b: Node) -> Node:
        if a == TRUE or b == TRUE:
            return TRUE
        if a == FALSE or a == b:
            return b
        if b == FALSE:
            return a
        key = (a, b) if a < b else (b, a)
        done = self._or.get(key)
        if done is None:
            done = self._or[key] = self._apply(self.disj, a, b)
        return done

    def intersects(self, a: Node, b: Node) -> bool:
        """Whether `a and b` can hold, without building it."""
        if a == FALSE or b == FALSE:
            return False
        if a == TRUE or b == TRUE or a == b:
            return True
        key = (a, b) if a < b else (b, a)
        known = self._and.get(key)
        if known is not None:
            return known != FALSE
        found = self._meets.get(key)
        if found is None:
            found = self._meets[key] = self._meet(a, b)
        return found

    def minus(self, a: Node, b: Node) -> Node:
        """`a and not b`."""
        return self.conj(a, self.neg(b))

    def all_of(self, nodes: Iterable[Node]) -> Node:
        result = TRUE
        for node in nodes:
            result = self.conj(result, node)
        return result

    def any_of(self, nodes: Iterable[Node]) -> Node:
        result = FALSE
        for node in nodes:
            result = self.disj(result, node)
        return result

    def ite(self, test: Node, then: Node, other: Node) -> Node:
        return self.disj(self.conj(test, then), self.minus(other, test))

    def implies(self, a: Node, b: Node) -> bool:
        return self.minus(a, b) == FALSE

    def exists(self, a: Node, hidden: Callable[[str], bool]) -> Node:
        """Project out every variable whose name `hidden` accepts."""
        return self.project(a, frozenset(v for v in self.variables(a) if hidden(self.names[v])))

    def project(self, a: Node, gone: frozenset[int]) -> Node:
        """Project out the variables at these positions."""
        if not gone:
            return a
        memo: dict[Node, Node] = {}

        def go(node: Node) -> Node:
            if not gone & self.variables(node):
                return node
            done = memo.get(node)
            if done is None:
                edges = [(value, go(child)) for value, child in self._edges[node]]
                default = go(self._default[node])
                if self._var[node] in gone:
                    done = default
                    for _, child in edges:
                        done = self.disj(done, child)
                else:
                    done = self._make(self._var[node], edges, default)
                memo[node] = done
            return done

        return go(a)

    def conj_project(self, a: Node, b: Node, gone: frozenset[int]) -> Node:
        """`a and b` with the variables at these positions projected out, without building `a and b`."""
        memo: dict[tuple[Node, Node], Node] = {}

        def go(a: Node, b: Node) -> Node:
            if a == FALSE or b == FALSE:
                return FALSE
            if a == TRUE or a == b:
                return self.project(b, gone & self.variables(b))
            if b == TRUE:
                return self.project(a, gone & self.variables(a))
            key = (a, b) if a < b else (b, a)
            done = memo.get(key)
            if done is None:
                done = memo[key] = step(*key)
            return done

        def step(a: Node, b: Node) -> Node:
            if self._var[a] > self._var[b]:
                a, b = b, a
            variable, default = self._var[a], self._default[a]
            if variable < self._var[b]:
                edges = [(value, go(child, b)) for value, child in self._edges[a]]
                rest = go(default, b)
            else:
                table, other = dict(self._edges[b]), self._default[b]
                edges = [(value, go(child, table.pop(value, other))) for value, child in self._edges[a]]
                edges += [(value, go(default, child)) for value, child in table.items()]
                rest = go(default, other)
            if variable not in gone:
                return self._make(variable, edges, rest)
            return self.any_of([rest, *(child for _, child in edges)])

        return go(a, b)

    def simplify(self, a: Node, care: Node) -> Node:
        """A function, mostly smaller, that equals `a` wherever `care` holds and is anything elsewhere (the `restrict`
        operator of Coudert and Madre, for variables with many values)."""
        if a <= TRUE or care == TRUE:
            return a
        if care == FALSE or a == care:
            return TRUE
        key = (a, care)
        done = self._simple.get(key)
        if done is None:
            done = self._simple[key] = self._simplified(a, care)
        return done

    def _simplified(self, a: Node, care: Node) -> Node:
        variable, cared = self._var[a], self._var[care]
        if cared < variable:
            return self.simplify(a, self._any_child(care))
        default = self._default[a]
        if variable < cared:
            edges = [(value, self.simplify(child, care)) for value, child in self._edges[a]]
            return self._make(variable, edges, self.simplify(default, care))
        table, rest = dict(self._edges[care]), self._default[care]
        edges = []
        for value, child in self._edges[a]:
            within = table.pop(value, rest)
            if within != FALSE:
                edges.append((value, self.simplify(child, within)))
        for value, within in table.items():
            if within != FALSE:
                edges.append((value, self.simplify(default, within)))
        if rest != FALSE:
            return self._make(variable, edges, self.simplify(default, rest))
        children = [child for _, child in edges]
        return self._make(variable, edges, max(children, key=children.count))

    def _any_child(self, a: Node) -> Node:
        done = self._any.get(a)
        if done is None:
            done = self._default[a]
            for _, child in self._edges[a]:
                done = self.disj(done, child)
            self._any[a] = done
        return done

    def restrict(self, a: Node, assignment: Mapping[str, Value]) -> Node:
        """`a` with the named variables fixed."""
        memo: dict[Node, Node] = {FALSE: FALSE, TRUE: TRUE}

        def go(node: Node) -> Node:
            done = memo.get(node)
            if done is None:
                name = self.names[self._var[node]]
                if name in assignment:
                    chosen = self._value_ids.get(assignment[name], -1)
                    done = go(dict(self._edges[node]).get(chosen, self._default[node]))
                else:
                    edges = [(value, go(child)) for value, child in self._edges[node]]
                    done = self._make(self._var[node], edges, go(self._default[node]))
                memo[node] = done
            return done

        return go(a)

    def evaluate(self, a: Node, assignment: Mapping[str, Value]) -> bool:
        """The truth of `a` at a point; variables that are not named take a value nobody mentions."""
        while a > TRUE:
            value = assignment.get(self.names[self._var[a]], _OTHER)
            a = dict(self._edges[a]).get(self._value_ids.get(value, -1), self._default[a])
        return a == TRUE

    def support(self, a: Node) -> set[str]:
        """The names of the variables that `a` depends on."""
        return {self.names[variable] for variable in self.variables(a)}

    def values(self, a: Node, name: str) -> set[Value]:
        """The values of the variable `name` that `a` tells apart."""
        variable = self._index.get(name)
        found: set[Value] = set()
        seen: set[Node] = set()
        stack = [a]
        while stack:
            node = stack.pop()
            if node <= TRUE or node in seen:
                continue
            seen.add(node)
            if self._var[node] == variable:
                found.update(self._values[value] for value, _ in self._edges[node])
            stack.append(self._default[node])
            stack.extend(child for _, child in self._edges[node])
        return found

    def cubes(self, a: Node) -> Iterator[Cube]:
        """The paths to TRUE, disjoint, covering `a`."""
        if a == FALSE:
            return
        if a == TRUE:
            yield {}
            return
        name = self.names[self._var[a]]
        by_child: dict[Node, list[Value]] = {}
        for value, child in self._edges[a]:
            by_child.setdefault(child, []).append(self._values[value])
        for child, values in by_child.items():
            for rest in self.cubes(child):
                yield {name: (True, tuple(values)), **rest}
        for rest in self.cubes(self._default[a]):
            yield {name: (False, tuple(self._values[value] for value, _ in self._edges[a])), **rest}

    def of_cube(self, cube: Cube) -> Node:
        """The function of a conjunction of literals."""
        result = TRUE
        for name, (positive, values) in cube.items():
            literal = self.literal(name, values)
            result = self.conj(result, literal if positive else self.neg(literal))
        return result

    def dump(self, roots: Iterable[Node]) -> tuple[list[DumpedNode], list[int]]:
        """The nodes below `roots` as plain data, children first, and the positions of `roots` among them. Positions 0
        and 1 are FALSE and TRUE."""
        rows: list[DumpedNode] = []
        places = {FALSE: 0, TRUE: 1}

        def place(node: Node) -> int:
            found = places.get(node)
            if found is None:
                edges = [[self._values[value], place(child)] for value, child in self._edges[node]]
                rows.append([self.names[self._var[node]], edges, place(self._default[node])])
                found = places[node] = len(rows) + 1
            return found

        return rows, [place(root) for root in roots]

    def load(self, rows: Iterable[DumpedNode]) -> list[Node]:
        """The functions of dumped rows by position, whatever the order of the variables here."""
        nodes = [FALSE, TRUE]
        for name, edges, default in rows:
            listed = self.literal(name, [value for value, _ in edges])
            node = self.minus(nodes[default], listed)
            for value, child in edges:
                node = self.disj(node, self.conj(self.literal(name, (value,)), nodes[child]))
            nodes.append(node)
        return nodes

    def pick(self, a: Node, cost: Callable[[str, Value], int]) -> Cube | None:
        """The cheapest path to TRUE; `cost(name, None)` is the price of the default branch."""
        if a == FALSE:
            return None
        best: dict[Node, tuple[int, int]] = {FALSE: (1 << 40, -1), TRUE: (0, -1)}

        def price(node: Node) -> int:
            found = best.get(node)
            if found is None:
                name = self.names[self._var[node]]
                found = (price(self._default[node]) + cost(name, None), -1)
                for value, child in self._edges[node]:
                    total = price(child) + cost(name, self._values[value])
                    if total < found[0]:
                        found = (total, value)
                best[node] = found
            return found[0]

        price(a)
        cube: Cube = {}
        while a > TRUE:
            value = best[a][1]
            name = self.names[self._var[a]]
            if value >= 0:
                cube[name] = (True, (self._values[value],))
                a = dict(self._edges[a])[value]
            else:
                cube[name] = (False, tuple(self._values[other] for other, _ in self._edges[a]))
                a = self._default[a]
        return cube

    def variables(self, a: Node) -> frozenset[int]:
        """The positions of the variables that `a` depends on."""
        found = self._support.get(a)
        if found is None:
            found = self.variables(self._default[a]) | {self._var[a]}
            for _, child in self._edges[a]:
                found |= self.variables(child)
            self._support[a] = found
        return found

    def _value_id(self, value: Value) -> int:
        number = self._value_ids.get(value)
        if number is None:
            number = self._value_ids[value] = len(self._values)
            self._values.append(value)
        return number

    def _make(self, var: int, edges: list[tuple[int, Node]], default: Node) -> Node:
        kept = [edge for edge in edges if edge[1] != default]
        if not kept:
            return default
        if len(kept) > 1:
            kept.sort()
        key = (var, tuple(kept), default)
        node = self._unique.get(key)
        if node is None:
            node = self._unique[key] = len(self._var)
            self._var.append(var)
            self._edges.append(key[1])
            self._default.append(default)
        return node

    def _meet(self, a: Node, b: Node) -> bool:
        var_a, var_b = self._var[a], self._var[b]
        if var_a > var_b:
            a, b, var_a, var_b = b, a, var_b, var_a
        if var_a < var_b:
            return self.intersects(self._default[a], b) or any(self.intersects(c, b) for _, c in self._edges[a])
        rest_a, rest_b = self._default[a], self._default[b]
        if self.intersects(rest_a, rest_b):
            return True
        table = dict(self._edges[b])
        for value, child in self._edges[a]:
            if self.intersects(child, table.pop(value, rest_b)):
                return True
        return any(self.intersects(rest_a, child) for child in table.values())

    def _apply(self, op: Callable[[Node, Node], Node], a: Node, b: Node) -> Node:
        var_a, var_b = self._var[a], self._var[b]
        if var_a < var_b:
            return self._make(var_a, [(v, op(child, b)) for v, child in self._edges[a]], op(self._default[a], b))
        if var_a > var_b:
            return self._make(var_b, [(v, op(a, child)) for v, child in self._edges[b]], op(a, self._default[b]))
        edges_a, edges_b = self._edges[a], self._edges[b]
        rest_a, rest_b = self._default[a], self._default[b]
        if len(edges_a) == 1 and len(edges_b) == 1 and edges_a[0][0] == edges_b[0][0]:
            value = edges_a[0][0]
            return self._make(var_a, [(value, op(edges_a[0][1], edges_b[0][1]))], op(rest_a, rest_b))
        table = dict(edges_b)
        edges = [(value, op(child, table.pop(value, rest_b))) for value, child in edges_a]
        edges += [(value, op(rest_a, child)) for value, child in table.items()]
        return self._make(var_a, edges, op(rest_a, rest_b))


_OTHER: Value = "<a value that no test names>"
