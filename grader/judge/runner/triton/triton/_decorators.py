"""@triton.jit, @triton.autotune and @triton.heuristics, for kernels that are compiled already."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from warpgrade._launch import launcher
from warpgrade._specialise import Signature, key_of

Function = Callable[..., Any]


class _Launchable:
    """kernel[grid](...)."""

    def __getitem__(self, grid: Any) -> Function:  # noqa: ANN401
        return lambda *args, **kwargs: self.run(*args, grid=grid, **kwargs)

    def run(self, *args: Any, grid: Any, **kwargs: Any) -> None:  # noqa: ANN401
        raise NotImplementedError


class JITFunction(_Launchable):
    """A kernel, or a function that kernels call."""

    def __init__(
        self,
        fn: Function,
        do_not_specialize: Iterable[int | str] | None = None,
        do_not_specialize_on_alignment: Iterable[int | str] | None = None,
        **_options: object,
    ) -> None:
        self.fn = fn
        self.__name__ = fn.__name__
        self.__doc__ = fn.__doc__
        self.__module__ = fn.__module__
        self.warpgrade_signature = Signature(fn, do_not_specialize or (), do_not_specialize_on_alignment or ())
        self.arg_names = self.warpgrade_signature.names

    def run(self, *args: Any, grid: Any, **kwargs: Any) -> None:  # noqa: ANN401
        """Launch the kernel that was compiled for such arguments."""
        kwargs.pop("warmup", None)
        launcher().launch(self.fn, self.warpgrade_signature, grid, args, kwargs)

    def is_compiled(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether there is one."""
        values, options = self.warpgrade_signature.bind(args, kwargs)
        return launcher().has(key_of(self.fn, self.warpgrade_signature.arguments(values), options))

    def __call__(self, *_args: object, **_kwargs: object) -> object:
        raise RuntimeError("Cannot call @triton.jit'd outside of the scope of a kernel")


def jit(fn: Function | None = None, **options: Any) -> Any:  # noqa: ANN401
    """Mark a function as a kernel."""
    return JITFunction(fn, **options) if fn is not None else lambda f: JITFunction(f, **options)


class Config:
    """One way of launching a kernel, of several that autotune may choose from."""

    def __init__(
        self,
        kwargs: dict[str, Any],
        num_warps: int = 4,
        num_stages: int = 3,
        num_ctas: int = 1,
        maxnreg: int | None = None,
        pre_hook: Function | None = None,
        ir_override: str | None = None,
    ) -> None:
        self.kwargs, self.num_warps, self.num_stages, self.num_ctas = kwargs, num_warps, num_stages, num_ctas
        self.maxnreg, self.pre_hook, self.ir_override = maxnreg, pre_hook, ir_override

    def all_kwargs(self) -> dict[str, Any]:
        """The kernel's constants and the launch's options."""
        options = {
            "num_warps": self.num_warps,
            "num_ctas": self.num_ctas,
            "num_stages": self.num_stages,
            "maxnreg": self.maxnreg,
            "ir_override": self.ir_override,
        }
        return {**self.kwargs, **{name: value for name, value in options.items() if value is not None}}


class Heuristics(_Launchable):
    """Constants that are computed from the other arguments."""

    def __init__(self, fn: Any, arg_names: list[str], values: dict[str, Function]) -> None:  # noqa: ANN401
        self.fn, self.arg_names, self.values = fn, arg_names, values

    def _with_values(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        kwargs = dict(kwargs)
        for name, compute in self.values.items():
            kwargs[name] = compute({**dict(zip(self.arg_names, args, strict=False)), **kwargs})
        return kwargs

    def run(self, *args: Any, grid: Any, **kwargs: Any) -> None:  # noqa: ANN401
        """Launch with them."""
        self.fn.run(*args, grid=grid, **self._with_values(args, kwargs))

    def is_compiled(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether there is a kernel for these arguments."""
        return bool(self.fn.is_compiled(args, self._with_values(args, kwargs)))


def heuristics(values: dict[str, Function]) -> Function:
    """Compute constants from the other arguments."""
    return lambda fn: Heuristics(fn, fn.arg_names, values)


class Autotuner(_Launchable):
    """Configurations of a kernel. What plan() launches is tuned there; else the first that compiles is taken."""

    def __init__(
        self,
        fn: Any,  # noqa: ANN401
        arg_names: list[str],
        configs: list[Config],
        key: list[str],
        prune: dict[str, Function],
        reset_to_zero: list[str],
    ) -> None:
        self.fn, self.arg_names = fn, arg_names
        self.configs = configs or [Config({})]
        self.key, self.reset_to_zero = key, reset_to_zero
        self.prune = prune.get("early_config_prune")
        self.chosen: dict[tuple[object, ...], Config] = {}

    def run(self, *args: Any, grid: Any, **kwargs: Any) -> None:  # noqa: ANN401
        """Launch with the configuration that was chosen for such arguments."""
        named = {**dict(zip(self.arg_names, args, strict=False)), **kwargs}
        configs = self.configs
        if self.prune is not None:
            configs = self.prune(configs, named, **kwargs)

        def launch(config: Config) -> None:
            if config.pre_hook is not None:
                config.pre_hook({**named, **config.all_kwargs()})
            self.fn.run(*args, grid=grid, **{**kwargs, **config.all_kwargs()})

        def is_compiled(config: Config) -> bool:
            return bool(self.fn.is_compiled(args, {**kwargs, **config.all_kwargs()}))

        key = tuple(getattr(named[name], "shape", named[name]) for name in self.key if name in named)
        if launcher().is_tuning and key not in self.chosen:
            self._tune(key, [c for c in configs if is_compiled(c)], launch, named)
        first = self.chosen.get(key)
        launch(first if first is not None and is_compiled(first) else next(filter(is_compiled, configs), configs[0]))

    def _tune(self, key: tuple[object, ...], configs: list[Config], launch: Function, named: dict[str, Any]) -> None:
        """Run each; the quickest is kept, and the first where there is no GPU to time them."""
        times = []
        for config in configs:
            for name in self.reset_to_zero:
                named[name].zero_()
            times.append(launcher().time_of(lambda config=config: launch(config)))  # type: ignore[misc]
        for name in self.reset_to_zero:
            named[name].zero_()
        if times:
            self.chosen[key] = configs[times.index(min(times))]


def autotune(
    configs: list[Config],
    key: list[str],
    prune_configs_by: dict[str, Function] | None = None,
    reset_to_zero: list[str] | None = None,
    restore_value: list[str] | None = None,
    **_options: object,
) -> Function:
    """Choose among configurations."""
    if restore_value:
        raise ValueError("restore_value is not supported: launch the kernel in plan(), on arrays of your own")
    return lambda fn: Autotuner(fn, fn.arg_names, configs, key, prune_configs_by or {}, reset_to_zero or [])


def cdiv(x: int, y: int) -> int:
    """The quotient, rounded up."""
    return (x + y - 1) // y


def next_power_of_2(n: int) -> int:
    """The smallest power of 2 that is not below n."""
    return 1 << max(n - 1, 0).bit_length() if n > 0 else 0
