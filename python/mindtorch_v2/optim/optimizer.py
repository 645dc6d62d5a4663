"""``Optimizer``: groups of parameters, what is remembered of each, and the hooks around a step."""

from __future__ import annotations

import functools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Iterable
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias

import mindtorch_v2 as torch
from mindtorch_v2._core import _is_memory_recorded, _note_optimizer_state, _note_parameter
from mindtorch_v2.optim import _state
from mindtorch_v2.optim._checks import check_group
from mindtorch_v2.profiler import record_function
from mindtorch_v2.utils.hooks import RemovableHandle, register

if TYPE_CHECKING:
    from collections.abc import Callable

    StateDict: TypeAlias = dict[str, Any]
    StepHook: TypeAlias = Callable[["Optimizer", tuple[Any, ...], dict[str, Any]], Any]

__all__ = ["Optimizer", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook"]

ParamsT: TypeAlias = Iterable[torch.Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, torch.Tensor]]

_UNORDERED = (
    "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets "
    "will change between runs. Please use a list instead."
)

_global_pre_hooks: OrderedDict[int, StepHook] = OrderedDict()
_global_post_hooks: OrderedDict[int, StepHook] = OrderedDict()


def register_optimizer_step_pre_hook(hook: StepHook) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` before every step of every optimiser."""
    return register(_global_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: StepHook) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` after every step of every optimiser."""
    return register(_global_post_hooks, hook)


class Optimizer:
    """Changes parameters by their gradients; the base of all optimisers.

    Args:
        params: the tensors to optimise, ``(name, tensor)`` pairs, or dicts with ``"params"`` and options of their own.
        defaults: the options of groups that do not give them.
    """

    _step_name: str
    _zero_grad_name = "Optimizer.zero_grad#Optimizer.zero_grad"
    # Whether a step was made since the first scheduler was attached; None until then.
    _opt_called: bool | None = None
    # For how many parameters something was remembered when the memory of that was last noted.
    _states_noted = 0

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._step_name = f"Optimizer.step#{cls.__name__}.step"
        cls._zero_grad_name = f"Optimizer.zero_grad#{cls.__name__}.zero_grad"
        if not getattr(cls.step, "hooked", False):
            cls.step = cls.profile_hook_step(cls.step)  # type: ignore[method-assign]

    def __init__(self, params: ParamsT, defaults: dict[str, Any]) -> None:
        if isinstance(params, torch.Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, "
                f"but got {type(params).__name__}"
            )
        if isinstance(params, set):
            warnings.warn(f"{_UNORDERED} This will be an error in a future release.", FutureWarning, stacklevel=2)
        self.defaults = defaults
        self.state: defaultdict[torch.Tensor, dict[str, Any]] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        self._make_hooks()
        groups: list[Any] = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def _make_hooks(self) -> None:
        self._step_pre_hooks: OrderedDict[int, StepHook] = OrderedDict()
        self._step_post_hooks: OrderedDict[int, StepHook] = OrderedDict()
        self._state_dict_pre_hooks: OrderedDict[int, Callable[[Optimizer], None]] = OrderedDict()
        self._state_dict_post_hooks: OrderedDict[int, Callable[[Optimizer, StateDict], StateDict | None]] = (
            OrderedDict()
        )
        self._load_pre_hooks: OrderedDict[int, Callable[[Optimizer, StateDict], StateDict | None]] = OrderedDict()
        self._load_post_hooks: OrderedDict[int, Callable[[Optimizer], None]] = OrderedDict()

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._states_noted = 0
        if "_step_pre_hooks" not in self.__dict__:
            self._make_hooks()

    def __repr__(self) -> str:
        groups = []
        for number, group in enumerate(self.param_groups):
            options = [f"    {key}: {group[key]}\n" for key in sorted(group) if key != "params"]
            groups.append(f"\nParameter Group {number}\n{''.join(options)}")
        return f"{type(self).__name__} ({''.join(groups)})"

    @staticmethod
    def profile_hook_step(function: Callable[..., Any]) -> Callable[..., Any]:
        """Return ``step`` in a wrapper that runs the hooks around it and shows it to the profiler."""

        @functools.wraps(function)
        def step(*args: Any, **kwargs: Any) -> Any:
            self: Optimizer = args[0]
            if type(self).step is not step:
                # Called by an override, as super().step(): the hooks are the override's.
                return function(*args, **kwargs)
            if self._opt_called is False:
                self._opt_called = True
            with record_function(self._step_name):
                for hook in chain(_global_pre_hooks.values(), self._step_pre_hooks.values()):
                    result = hook(self, args, kwargs)
                    if result is None:
                        continue
                    if not isinstance(result, tuple) or len(result) != 2:
                        raise RuntimeError(
                            f"{function} must return None or a tuple of (new_args, new_kwargs), but got {result}."
                        )
                    args, kwargs = result
                out = function(*args, **kwargs)
                self._note_memory()
                for hook in chain(self._step_post_hooks.values(), _global_post_hooks.values()):
                    hook(self, args, kwargs)
                return out

        step.hooked = True  # type: ignore[attr-defined]
        return step

    def _note_memory(self) -> None:
        """Say what the state is to those who record what memory is for: when there is more of it, and while they do."""
        if len(self.state) != self._states_noted or _is_memory_recorded():
            self._states_noted = len(self.state)
            _note_optimizer_state(self.state)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters once; ``closure`` computes the loss anew and returns it."""
        raise NotImplementedError

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Let go of all gradients, or fill them with zeros."""
        with record_function(self._zero_grad_name):
            for group in self.param_groups:
                for param in group["params"]:
                    if param.grad is None:
                        continue
                    if set_to_none:
                        param.grad = None
                        continue
                    if param.grad.requires_grad:
                        param.grad = param.grad.detach()
                    param.grad.zero_()

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters, with options of their own, to those that are optimised."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        _name_params(param_group)
        for param in param_group["params"]:
            if not isinstance(param, torch.Tensor):
                raise TypeError(
                    f"optimizer can only optimize Tensors, but one of the params is {type(param).__qualname__}"
                )
            if not (param.is_leaf or param.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")
            _note_parameter(param)
        for name, default in self.defaults.items():
            param_group.setdefault(name, default)
        check_group(param_group)
        self._check_distinct(param_group)
        self.param_groups.append(param_group)

    def _check_distinct(self, param_group: dict[str, Any]) -> None:
        added = {id(param) for param in param_group["params"]}
        if len(added) != len(param_group["params"]):
            warnings.warn("optimizer contains a parameter group with duplicate parameters", UserWarning, stacklevel=4)
        named = "param_names" in param_group
        for group in self.param_groups:
            if named != ("param_names" in group):
                raise ValueError(
                    "all optimizer param groups should be with/without names. cannot add param group "
                    f"{'with' if named else 'without'} names to the optimizer"
                )
            if not added.isdisjoint(map(id, group["params"])):
                raise ValueError("some parameters appear in more than one parameter group")

    def state_dict(self) -> StateDict:
        """Return the state and the groups as plain data, with numbers in the place of parameters."""
        for before in self._state_dict_pre_hooks.values():
            before(self)
        state_dict = _state.pack(self.state, self.param_groups)
        for after in self._state_dict_post_hooks.values():
            result = after(self, state_dict)
            state_dict = state_dict if result is None else result
        return state_dict

    def load_state_dict(self, state_dict: StateDict) -> None:
        """Take over what ``state_dict()`` returned, cast to the devices and dtypes of the parameters."""
        state_dict = state_dict.copy()
        for before in self._load_pre_hooks.values():
            result = before(self, state_dict)
            state_dict = state_dict if result is None else result
        state, groups = _state.unpack(state_dict, self.param_groups, self.defaults, self._keeps_step_beside)
        for group in groups:
            check_group(group)
        self.__setstate__({"state": state, "param_groups": groups})
        for after in self._load_post_hooks.values():
            after(self)

    def _keeps_step_beside(self, group: dict[str, Any], param: torch.Tensor) -> bool:
        """Say whether the count of steps lies on the parameter's device, in float32, rather than on the host."""
        return bool(group.get("fused")) and param.is_floating_point()

    def register_step_pre_hook(self, hook: StepHook) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` before each step; it may return new args and kwargs."""
        return register(self._step_pre_hooks, hook)

    def register_step_post_hook(self, hook: StepHook) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` after each step."""
        return register(self._step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Callable[[Optimizer], None], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer)`` before ``state_dict()`` collects anything."""
        return register(self._state_dict_pre_hooks, hook, prepend=prepend)

    def register_state_dict_post_hook(
        self, hook: Callable[[Optimizer, StateDict], StateDict | None], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` on what ``state_dict()`` collected; it may return another."""
        return register(self._state_dict_post_hooks, hook, prepend=prepend)

    def register_load_state_dict_pre_hook(
        self, hook: Callable[[Optimizer, StateDict], StateDict | None], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` before ``load_state_dict()``; it may return another state dict."""
        return register(self._load_pre_hooks, hook, prepend=prepend)

    def register_load_state_dict_post_hook(
        self, hook: Callable[[Optimizer], None], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(optimizer)`` after ``load_state_dict()``."""
        return register(self._load_post_hooks, hook, prepend=prepend)


def _name_params(group: dict[str, Any]) -> None:
    """Make a list of the group's parameters, and another of their names if they have any."""
    params = group["params"]
    if isinstance(params, set):
        raise TypeError(_UNORDERED)
    entries = [params] if isinstance(params, torch.Tensor) else list(params)
    names = [entry[0] for entry in entries if isinstance(entry, tuple)]
    if names and len(names) != len(entries):
        raise ValueError("all optimizer params should be with/without names. Some param names are missing")
    group["params"] = [entry[1] for entry in entries] if names else entries
    if names:
        group["param_names"] = names
