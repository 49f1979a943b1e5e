"""Contexts of lowering rules that build MLIR objects: of the rule and of its module."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from ricci_ir import AbstractValue, Effect, Jaxpr, NameStack, Primitive
from ricci_xla.authoring import load_mlir
from ricci_xla.devices import Client, Device, get_backend

from ._modules import create_function, merge_mlir_modules, module_of_jaxpr, symbol_of

if TYPE_CHECKING:
    from jaxlib.mlir import ir

__all__ = ["AxisContext", "LoweringParameters", "LoweringResult", "LoweringRule"]
__all__ += ["LoweringRuleContext", "ModuleContext", "SPMDAxisContext", "ShapePolyLoweringState"]
__all__ += ["ShardingContext", "TokenSet"]


class ShardingContext(NamedTuple):
    """The devices of a module whose operations act on global arrays.

    Attributes:
      num_devices: the number of devices.
      device_assignment: the devices, or ``None`` if unknown.
      abstract_mesh: the mesh that the module refers to, if any.
    """

    num_devices: int
    device_assignment: tuple[Device, ...] | None = None
    abstract_mesh: Any = None


class SPMDAxisContext(NamedTuple):
    """The mesh of a module whose operations act on shards, as inside ``shard_map``.

    Attributes:
      mesh: the mesh.
      manual_axes: its manual axes, over which the arrays are sharded already.
    """

    mesh: Any
    manual_axes: frozenset[Any] = frozenset()


AxisContext = SPMDAxisContext | ShardingContext


class LoweringParameters(NamedTuple):
    """Parameters of lowering to a module.

    Attributes:
      override_lowering_rules: pairs of primitives and the rules that replace theirs; not supported.
      for_export: whether constants are written into the module instead of being arguments.
      global_constant_computation, export_ignore_forward_compatibility, hoist_constants_as_args:
        accepted for compatibility, and ignored.
    """

    override_lowering_rules: tuple[Any, ...] | None = None
    global_constant_computation: bool = False
    for_export: bool = False
    export_ignore_forward_compatibility: bool = False
    hoist_constants_as_args: bool = False


class ShapePolyLoweringState:
    """The dimension variables of a module, for lowering rules.

    Args:
      dim_vars: their names.
      lowering_platforms: the platforms that the module is for, if there are several.
    """

    __slots__ = ("dim_vars", "has_platform_index_argument", "uses_dim_vars")

    def __init__(self, dim_vars: tuple[str, ...], lowering_platforms: tuple[str, ...] | None):
        self.dim_vars: tuple[str, ...] = dim_vars
        self.uses_dim_vars: bool = bool(dim_vars)
        self.has_platform_index_argument: bool = len(lowering_platforms or ()) > 1


class LoweringResult(NamedTuple):
    """The result of lowering a jaxpr.

    Attributes:
      module: the MLIR module.
      keepalive: objects that must live as long as the compiled module.
      host_callbacks: the Python functions that the module calls.
      shape_poly_state: the variables of its dimensions.
    """

    module: "ir.Module"
    keepalive: list[Any] | None
    host_callbacks: list[Any]
    shape_poly_state: ShapePolyLoweringState


class TokenSet:
    """The tokens that order effects, by effect.

    Args:
      tokens: for each effect an MLIR value of type token.
    """

    __slots__ = ("_tokens",)

    def __init__(self, tokens: "Mapping[Effect, ir.Value[Any]] | None" = None):
        self._tokens: dict[Effect, Any] = dict(tokens or {})

    @classmethod
    def create(cls, effects: Sequence[Effect]) -> "TokenSet":
        """Create tokens for effects, at the current insertion point."""
        ir, _ = load_mlir()
        kind = ir.Type.parse("!stablehlo.token")
        make = lambda: ir.Operation.create("stablehlo.create_token", [kind]).result
        return cls({effect: make() for effect in effects})

    def __len__(self) -> int:
        return len(self._tokens)

    def get(self, effect: Effect) -> "ir.Value[Any]":
        """The token of an effect."""
        return self._tokens[effect]

    def effects(self) -> set[Effect]:
        """The effects."""
        return set(self._tokens)

    def items(self) -> tuple[tuple[Effect, Any], ...]:
        """Pairs of effects and tokens."""
        return tuple(self._tokens.items())

    def subset(self, effects: Sequence[Effect]) -> "TokenSet":
        """The tokens of some of the effects."""
        return TokenSet({effect: self._tokens[effect] for effect in effects})

    def update_tokens(self, tokens: "TokenSet") -> "TokenSet":
        """Replace tokens by those of another set with the same effects."""
        return TokenSet({**self._tokens, **tokens._tokens})


# Returns the symbol of a function that computes a jaxpr, which is the name if that is free.
type WriteFunction = Callable[[Jaxpr, str], str]

_channels = count(2)


class ModuleContext:
    """The context of the module that is being built: its platforms, devices and MLIR objects.

    Attributes:
      platforms: the platforms that it is for.
      backend: the client of the first of them.
      axis_context: the devices or the mesh that it runs on.
      context, module, ip, symbol_table: MLIR's context, the module, the insertion point of its
        functions, and the table of their names.
      keepalives: the arguments of ``add_keepalive``.
      host_callbacks: the Python functions that the module calls.
      lowering_parameters: the parameters of lowering.
      shape_poly_state: the variables of its dimensions.
      write_function: writes the function of a jaxpr, and returns its name.
      declared: the names of the functions that ``write_function`` has written, which the module
        only declares.
    """

    def __init__(
        self,
        *,
        platforms: Sequence[str],
        backend: Client | None = None,
        axis_context: AxisContext | None = None,
        keepalives: list[Any] | None = None,
        channel_iterator: Iterator[int] | None = None,
        host_callbacks: list[Any] | None = None,
        lowering_parameters: LoweringParameters | None = None,
        context: "ir.Context | None" = None,
        module: "ir.Module | None" = None,
        ip: "ir.InsertionPoint | None" = None,
        symbol_table: "ir.SymbolTable | None" = None,
        shape_poly_state: ShapePolyLoweringState | None = None,
        all_default_mem_kind: bool = True,
        write_function: WriteFunction | None = None,
    ):
        ir, shared = load_mlir()
        self.platforms: tuple[str, ...] = tuple(platforms)
        self.backend: Client | None = backend
        self.axis_context: AxisContext = axis_context or ShardingContext(1)
        self.keepalives: list[Any] = [] if keepalives is None else keepalives
        self.channel_iterator: Iterator[int] = channel_iterator or _channels
        self.host_callbacks: list[Any] = [] if host_callbacks is None else host_callbacks
        self.lowering_parameters: LoweringParameters = lowering_parameters or LoweringParameters()
        self.context: Any = context or shared
        if module is None:
            with self.context, ir.Location.unknown():
                module = ir.Module.create()
        self.module: Any = module
        self.ip: Any = ip or ir.InsertionPoint(self.module.body)
        self.symbol_table: Any = symbol_table or ir.SymbolTable(self.module.operation)
        self.shape_poly_state: ShapePolyLoweringState = shape_poly_state or ShapePolyLoweringState(
            (), None
        )
        self.all_default_mem_kind: bool = all_default_mem_kind
        self.write_function: WriteFunction = write_function or self._merged_function
        self.declared: set[str] = set()

    def replace(self, **changes: object) -> Self:
        """A copy for the same module, with some attributes replaced."""
        copy = object.__new__(type(self))
        copy.__dict__.update({**self.__dict__, **changes})
        return copy

    def get_backend(self, optional: bool = False) -> Client | None:
        """The client of the platform that the module is for.

        Args:
          optional: whether ``None`` may be returned if there is none.

        Raises:
          ValueError: if the module is for several platforms.
        """
        if self.backend is None and not optional:
            if len(self.platforms) != 1:
                raise ValueError(f"the module is for several platforms: {self.platforms}")
            return get_backend(self.platforms[0])
        return self.backend

    def new_channel(self) -> int:
        """A new id of a communication channel."""
        return next(self.channel_iterator)

    def add_host_callback(self, host_callback: object) -> None:
        """Add a Python function that the module calls."""
        self.host_callbacks.append(host_callback)

    def add_keepalive(self, keepalive: object) -> None:
        """Record an object that must live as long as the module."""
        self.keepalives.append(keepalive)

    def _merged_function(self, jaxpr: Jaxpr, name: str) -> str:
        """Write a jaxpr's function into a module that is built without Ricci's lowering."""
        source = module_of_jaxpr(jaxpr, name, self.platforms[0], self.host_callbacks)
        return merge_mlir_modules(self.module, name, source)


class LoweringRuleContext:
    """The argument ``ctx`` of a rule.

    Attributes:
      module_context: the context of the module that is being built.
      name_stack: the name scopes of the operation.
      traceback: its source location, if that is known.
      primitive: the primitive.
      avals_in, avals_out: the types of operands and results.
      tokens_in, tokens_out: the tokens of ordered effects before and after the operation; the rule
        sets the latter.
      const_lowering, axis_size_env, dim_var_values, jaxpr_eqn_ctx: accepted for compatibility.
      platforms: the platforms that the rule is for.
    """

    def __init__(
        self,
        module_context: ModuleContext,
        name_stack: NameStack,
        traceback: object,
        primitive: Primitive | None,
        avals_in: Sequence[AbstractValue],
        avals_out: Sequence[AbstractValue],
        tokens_in: TokenSet,
        tokens_out: TokenSet | None = None,
        const_lowering: Mapping[Any, Any] | None = None,
        axis_size_env: Mapping[Any, Any] | None = None,
        dim_var_values: Sequence[Any] = (),
        jaxpr_eqn_ctx: object = None,
        platforms: Sequence[str] | None = None,
    ):
        self.module_context: ModuleContext = module_context
        self.name_stack: NameStack = name_stack
        self.traceback: Any = traceback
        self.primitive: Primitive | None = primitive
        self.avals_in: Sequence[Any] = avals_in
        self.avals_out: Any = avals_out
        self.tokens_in: TokenSet = tokens_in
        self.tokens_out: TokenSet | None = tokens_out
        self.const_lowering: dict[Any, Any] = dict(const_lowering or {})
        self.axis_size_env: Mapping[Any, Any] | None = axis_size_env
        self.dim_var_values: Sequence[Any] = dim_var_values
        self.jaxpr_eqn_ctx: Any = jaxpr_eqn_ctx
        self.platforms: Sequence[str] | None = platforms

    def set_tokens_out(self, tokens_out: TokenSet) -> None:
        """Set the tokens after the operation.

        Raises:
          ValueError: if they have been set, or are of other effects than ``tokens_in``.
        """
        if self.tokens_out is not None:
            raise ValueError("set_tokens_out: the tokens after the operation are set already")
        if tokens_out.effects() != self.tokens_in.effects():
            raise ValueError(
                f"set_tokens_out: the tokens are of {tokens_out.effects()}, but the operation has "
                f"the effects {self.tokens_in.effects()}"
            )
        self.tokens_out = tokens_out

    def replace(self, **changes: object) -> Self:
        """A copy with some attributes replaced."""
        copy = object.__new__(type(self))
        copy.__dict__.update({**self.__dict__, **changes})
        return copy

    def is_forward_compat(self) -> bool:
        """Whether the module must be readable by older runtimes: always false."""
        return False

    def inline(self, jaxpr: Jaxpr, operands: "Sequence[ir.Value[Any]]") -> "list[ir.Value[Any]]":
        """Write a call of the function that a jaxpr is lowered to; return the call's results."""
        name = "fun" if self.primitive is None else self.primitive.name
        return write_call(self.module_context, jaxpr, name, operands)


type LoweringRule = Callable[..., Sequence[Any]]


def write_call(
    ctx: ModuleContext, jaxpr: Jaxpr, name: str, operands: "Sequence[ir.Value[Any]]"
) -> "list[ir.Value[Any]]":
    """Write a call of the function that computes a jaxpr.

    Args:
      ctx: the module.
      jaxpr: the jaxpr; its operands and results are one MLIR value each.
      name: the name of the function, if it is free.
      operands: the operands.
    """
    ir, _ = load_mlir()
    function: Any = declared_function(ctx, jaxpr, name)
    types = ir.FunctionType(function.attributes["function_type"].value)
    attributes = {"callee": ir.FlatSymbolRefAttr.get(function.attributes["sym_name"].value)}
    call = ir.Operation.create("func.call", list(types.results), list(operands), attributes)
    return list(call.results)


# The function's body is in the text that Ricci writes. MLIR verifies calls against a symbol, so the
# temporary module gets a declaration, which ``_run`` leaves out when it copies functions.
def declared_function(ctx: ModuleContext, jaxpr: Jaxpr, name: str) -> "ir.OpView":
    """The function that computes a jaxpr, as an operation of the module, maybe without a body."""
    ir, _ = load_mlir()
    symbol = ctx.write_function(jaxpr, name)
    functions = [f for f in ctx.module.body.operations if symbol_of(f) == symbol]
    if not functions:
        ctx.declared.add(symbol)
        with ctx.context, ir.Location.unknown(), ir.InsertionPoint(ctx.module.body):
            create_function(symbol, jaxpr.in_avals, jaxpr.out_avals)
        functions = [f for f in ctx.module.body.operations if symbol_of(f) == symbol]
    return functions[0]
