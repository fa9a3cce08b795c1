# mypy: disable-error-code="no-untyped-call"
"""The one way in which numerical kernels are compiled.

``error_model="numpy"`` leaves out checks for division by zero, which would keep the
compiler from vectorising the line kernels (a factor of 4 to 5 there).  ``fastmath``
stays off: conservation to rounding and exact positivity rely on the order of
operations (``compiled_sum`` and ``compiled_fused`` let some of it go where neither is
at stake; other Python threads may work beside them).

numba keeps compiled kernels beside their modules and looks at the module's own file only: a
kernel that calls another module's kernel stays as it was when that one changes, and cannot even
be read when a type that it takes has another name.  What is older than any module with kernels
is therefore dropped when this module is imported.

numba optimises each kernel, makes machine code of it and wrappers for callers of other kinds,
and does all of this again with the same code inside of each kernel that calls it: half of the
time of compiling, where kernels are made of many small ones.  So a kernel has two sides here.
Called from Python it is compiled as numba does it, and kept on disk.  Called by another kernel
it is a part of that one: typed and lowered, no more, and kept nowhere else.  This rests on what
numba has inside (tried with 0.60 and 0.68); ``benchmarks/first_use.py`` says what it wins.
"""

from __future__ import annotations

import functools
import gc
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core import codegen, compiler, event, registry

Function = TypeVar("Function", bound=Callable[..., object])

_ONE_PARALLEL_KERNEL = threading.Lock()


def remove_stale_kernels(package: Path) -> int:
    """Delete compiled kernels in ``package`` that are older than any module with kernels.

    Files that cannot be deleted stay.  Modules dated in the future are ignored, as every
    kernel would be compiled anew each time.

    Returns
    -------
    Number of files deleted.
    """
    caches = list(package.rglob("__pycache__/*.nb[ic]"))
    times = {cache: _changed(cache) for cache in caches}
    oldest, now = min(times.values(), default=0), time.time_ns()
    own = {cache.parents[1] / f"{cache.name.partition('.')[0]}.py" for cache in caches}
    newest = 0
    for module in package.rglob("*.py") if caches else ():
        when = _changed(module)
        if oldest < when <= now and (module in own or _has_kernels(module)):
            newest = max(newest, when)
    removed = 0
    for cache in caches:
        if 0 < times[cache] < newest:
            try:
                cache.unlink()
            except OSError:
                continue
            removed += 1
    return removed


def _changed(file: Path) -> int:
    """Time of the last change in ns; 0 if there is no such file (any more)."""
    try:
        return file.stat().st_mtime_ns
    except OSError:
        return 0


def _has_kernels(module: Path) -> bool:
    """Whether a module compiles kernels, or such as are compiled into others."""
    return "from mfpde.compiled import" in module.read_text(encoding="utf-8")


remove_stale_kernels(Path(__file__).parent)


class _PartLibrary(codegen.JITCodeLibrary):
    """Code that becomes machine code only inside of the kernels that it is linked into."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        """Leave that to the kernel that Python calls."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


class _PartCompiler(compiler.CompilerBase):
    """numba's compiler without what only a caller from Python needs."""

    def define_pipelines(self) -> list[Any]:
        """Return numba's own passes, for a library of the kind above."""
        state = self.state
        state.flags.no_compile = True
        state.flags.no_cpython_wrapper = True
        name = state.func_id.func_qualname
        state.library = _PartLibrary(state.targetctx.codegen(), name)
        return [compiler.DefaultPassBuilder.define_nopython_pipeline(state)]


class _Part(registry.CPUDispatcher):
    """A kernel as other kernels see it; Python cannot call it."""

    def add_overload(self, result: Any) -> None:
        """Keep what has been compiled for arguments of one kind, under a name of its own."""
        name = object()
        result = result._replace(entry_point=name)
        self.targetctx.insert_user_function(name, result.fndesc, [result.library])
        self.overloads[tuple(result.signature.args)] = result


class CompiledKernel(registry.CPUDispatcher):
    """A compiled function, kept on disk, and a part of each kernel that calls it.

    Parameters
    ----------
    py_func, locals, targetoptions
        A function, types of its variables and options of ``numba.njit``, as its dispatchers take
        them.
    """

    def __init__(
        self,
        py_func: Callable[..., object],
        locals: dict[str, Any] | None = None,
        targetoptions: dict[str, Any] | None = None,
    ):
        # A wrapper for callers in C would take a twentieth of the time, and there are none.
        options = {"nopython": True, "no_cfunc_wrapper": True, **(targetoptions or {})}
        super().__init__(py_func, locals or {}, options)
        self.enable_caching()
        self._part = _Part(py_func, self.locals, options, _PartCompiler)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Return what numba has to know to type a call in another kernel."""
        return self._part.get_call_template(args, kws)

    def get_overload(self, sig: Any) -> Any:
        """Return the name under which another kernel calls this one."""
        return self._part.get_overload(sig)

    def add_overload(self, result: Any) -> None:
        """Make what has been compiled for arguments of one kind callable."""
        super().add_overload(result)
        # Errors raised in a part find their texts here; numba sees to it where it makes
        # machine code, which parts do not have.
        for environment in result._find_referenced_environments():
            result.library.codegen.set_env(environment.env_name, environment)


class _NoCollections(event.Listener):
    """Puts Python's search for garbage off while numba compiles.

    The compiler makes millions of small objects that refer to one another, and drops them at
    its end: to search for some that can go before takes a tenth of the time.
    """

    def __init__(self) -> None:
        self._depth = 0
        self._is_off = False

    def on_start(self, event: object) -> None:
        """Stop collections when the outermost kernel begins."""
        if self._depth == 0 and gc.isenabled():
            gc.disable()
            self._is_off = True
        self._depth += 1

    def on_end(self, event: object) -> None:
        """Let them go on when it has ended."""
        self._depth -= 1
        if self._depth == 0 and self._is_off:
            gc.enable()
            self._is_off = False


event.register("numba:compile", _NoCollections())
# What parts rest on is no promise of numba's; without it kernels compile twice as long.
_KNOWS_PARTS = all(
    hasattr(owner, name)
    for owner, name in (
        (codegen.JITCodeLibrary, "_optimize_functions"),
        (codegen.JITCodeLibrary, "_optimize_final_module"),
        (codegen.JITCodeLibrary, "_finalize_final_module"),
        (codegen.JITCodeLibrary, "_finalize_dynamic_globals"),
        (compiler.CompilerBase, "define_pipelines"),
        (registry.CPUDispatcher, "get_call_template"),
        (registry.CPUDispatcher, "get_overload"),
        (registry.CPUDispatcher, "add_overload"),
    )
)


def compiled(function: Function) -> Function:
    """Compile ``function`` with numba, cached on disk."""
    return _kernel(function)


def _kernel(function: Function, **options: Any) -> Function:
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        return function
    if not _KNOWS_PARTS:
        whole = numba.njit(cache=True, error_model="numpy", **options)
        return cast(Function, whole(function))
    return cast(
        Function, CompiledKernel(function, None, {"error_model": "numpy", **options})
    )


def inlined(function: Function) -> Function:
    """Compile ``function`` into every kernel that calls it.

    The compiler leaves long functions as calls, and a loop with a call is not vectorised.
    """
    kernel = numba.njit(cache=True, error_model="numpy", inline="always")
    return cast(Function, kernel(function))


def compiled_inside(function: Function) -> Function:
    """Compile ``function`` so that no call of it is left in the kernels that call it.

    It is typed once, not in each place as an :func:`inlined` one is, and rounds as it does
    elsewhere.
    """
    return _kernel(function, forceinline=True)


def compiled_sum(function: Function) -> Function:
    """Compile ``function`` so that its sums may be taken in any order, hence vectorised.

    The result is the same on every run; sums that conserve mass may not be taken so.

    ``function`` must do without array methods such as ``sum`` and without products of complex
    numbers: numba compiles what is behind them once, with the freedom of whichever kernel asks
    first, so that last bits would depend on the order in which kernels are compiled.
    """
    return _kernel(function, fastmath={"reassoc", "contract"}, nogil=True)


def compiled_fused(function: Function) -> Function:
    """Compile ``function`` so that a product and a sum may be rounded once, together.

    This saves a tenth of the time where arithmetic is the limit.  Differences of equal
    numbers stay exactly 0, but a sum of products may depend on the order of its terms.
    """
    return _kernel(function, fastmath={"contract"}, nogil=True)


def compiled_parallel(function: Function) -> Function:
    """Compile ``function`` so that its ``numba.prange`` loops run on several threads.

    Iterations must not share sums: then the result does not depend on the number of
    threads.  One such kernel runs at a time, since some of numba's threading layers end
    the interpreter when two Python threads enter them together.
    """
    kernel = numba.njit(cache=True, error_model="numpy", parallel=True)(function)

    @functools.wraps(function)
    def run(*arguments: Any) -> object:
        with _ONE_PARALLEL_KERNEL:
            return kernel(*arguments)

    return cast(Function, run)


def thread_count() -> int:
    """Return the number of threads that parallel kernels use (numba's setting)."""
    return int(numba.get_num_threads())
