"""Which adjoints of intermediate tensors keep an equation of their own, and which are put where they are used.

An adjoint is put into its users where that makes the whole program cheaper to read: the four adjoints of a layer norm's
statistics collapse into three terms, while ``dP`` of an attention, a contraction used twice, stays.
"""

from __future__ import annotations

from sympy import Add, Expr, Mul, Pow

from symderive.algebra.factor import factor_sum
from symderive.algebra.nodes import Access, Condition, Eq, Index, Pad, Sum, Where, free_indices
from symderive.algebra.program import Equation
from symderive.algebra.recognise import Knowledge
from symderive.algebra.rules import delta_beside_branch, minus_into_sums
from symderive.algebra.simplify import Trail, simplify
from symderive.algebra.steps import Story
from symderive.algebra.terms import Pass, cost, factors, tensors, transform_opened

_DELTAS, _FACTOR = Pass(delta_beside_branch), Pass(factor_sum)

EQUATION_COST = 3
"""What an equation of its own costs a reader, in the units of :func:`symderive.algebra.terms.cost`."""

PASSES = 3


def inline_adjoints(story: Story, known: tuple[Knowledge, ...], wrt: tuple[str, ...]) -> Story:
    """Put adjoints into their users as long as that pays."""
    outputs = {f"d{name}" for name in wrt}
    failed: dict[str, list[Expr]] = {}
    for _ in range(PASSES):
        changed = False
        for name in list(reversed(story.records)):
            seen = [story.records[n].equation.right for n in (name, *story.users(name))]
            if name not in outputs and failed.get(name) != seen:
                done = _try_inline(name, story, known)
                failed[name] = [] if done else seen
                changed |= done
        if not changed:
            break
    story.rewrite("branch", _together)
    story.rewrite("sign", minus_into_sums)
    return story


def _together(expression: Expr) -> Expr:
    """What stands under one condition put together, and factored if there was any."""
    changed = _DELTAS(expression)
    return expression if changed == expression else _FACTOR(changed)


def _try_inline(name: str, story: Story, known: tuple[Knowledge, ...]) -> bool:
    helper = story.records[name].equation
    users = story.users(name)
    if not users:
        story.drop(name)
        return True
    if any(_inside_pad(story.records[u].equation.right, name) for u in users):
        return False
    constant = _is_constant(helper.right)
    if not constant and not _is_worth_a_try(helper, users, story):
        return False
    trails: dict[str, Trail] = {}
    before = cost(helper.right) + EQUATION_COST
    after = 0
    for user in users:
        right = story.records[user].equation.right
        trails[user] = simplify(put(right, helper), known)
        before += cost(right)
        after += cost(trails[user].expression)
    pays = constant or after < before or (after == before and _is_alias(helper.right))
    if not pays or _nests_contraction(helper, trails, story):
        return False
    story.absorb(name, trails)
    return True


def _is_worth_a_try(helper: Equation, users: list[str], story: Story) -> bool:
    """Whether putting it in could pay at all, told before the work of simplifying its users is done.

    A helper that is read in several places pays only if its factors can meet others there: a plain product or mask of
    tensors cannot. A contraction pays only where a user does nothing else with it, or has deltas to collapse it.
    """
    rights = [story.records[u].equation.right for u in users]
    places = sum(1 for right in rights for a in right.atoms(Access) if a.tensor == helper.tensor)
    if any(is_contraction(s) for s in helper.right.atoms(Sum)):
        deltas = any(r.atoms(Eq) for r in rights) or helper.right.atoms(Eq)
        return bool(deltas) or (places == 1 and all(cost(r) <= EQUATION_COST for r in rights))
    if places == 1 or _is_alias(helper.right) or not helper.right.atoms(Access):
        return True
    small = len(users) <= 4 and cost(helper.right) * (places - 1) <= 60
    return small and (_can_meet(helper.right) or any(isinstance(f, Eq) for f in factors(helper.right)))


def _is_constant(right: Expr) -> bool:
    """Whether it is a product of numbers, sizes, constants and the upstreams of losses: the same for every entry."""
    return all(
        (f.is_Symbol or f.is_Number or isinstance(f, Access)) and not f.atoms(Index)
        for f in (f.as_base_exp()[0] for f in factors(right))
    )


def _is_alias(right: Expr) -> bool:
    """Whether it is one tensor, or a scalar multiple of one."""
    tensors_of_axes = [f for f in factors(right) if f.atoms(Index)]
    return len(tensors_of_axes) == 1 and isinstance(tensors_of_axes[0], Access)


def _can_meet(right: Expr) -> bool:
    """Whether it is more than a polynomial or a mask of tensors: has a reduction, a quotient or a function in it."""
    return not all(
        isinstance(n, Access | Where | Condition | Mul | Add) or not n.args or _is_power(n) for n in _nodes(right)
    )


def _is_power(node: Expr) -> bool:
    return isinstance(node, Pow) and node.exp.is_Integer and node.exp > 0


def _nodes(expression: Expr) -> list[Expr]:
    """The nodes of an expression, conditions and index positions left out."""
    if isinstance(expression, Access | Condition) or not expression.args:
        return [expression]
    return [expression, *(n for a in expression.args if isinstance(a, Expr) for n in _nodes(a))]


def put(expression: Expr, helper: Equation) -> Expr:
    """The expression with the right side of an equation in place of its tensor."""

    def rule(node: Expr) -> Expr:
        if isinstance(node, Access) and node.tensor == helper.tensor:
            return helper.right.xreplace(dict(zip(helper.indices, node.indices, strict=True)))
        return node

    return transform_opened(expression, rule)


def _inside_pad(expression: Expr, name: str) -> bool:
    return any(name in tensors(p) for p in expression.atoms(Pad))


def _nests_contraction(helper: Equation, trails: dict[str, Trail], story: Story) -> bool:
    """Whether a contraction of the helper would be computed inside another equation instead of once by itself."""
    if not any(is_contraction(s) for s in helper.right.atoms(Sum)):
        return False
    own = sum(is_contraction(s) for s in helper.right.atoms(Sum))
    for user, trail in trails.items():
        old = sum(is_contraction(s) for s in story.records[user].equation.right.atoms(Sum))
        new = sum(is_contraction(s) for s in trail.expression.atoms(Sum))
        alias = trail.expression == helper.right or cost(trail.expression) <= cost(helper.right)
        if new >= old + own and not (alias and len(trails) == 1):
            return True
    return False


def is_contraction(expression: Sum) -> bool:
    """Whether its factors have different free indices, as in a matrix product; a plain reduction has not."""
    bound = set(expression.bound)
    frees = []
    for factor in factors(expression.body):
        if factor.atoms(Access):
            frees.append(frozenset((free_indices(factor) | factor.atoms(*map(type, bound))) - bound))
    return len(set(frees)) > 1
