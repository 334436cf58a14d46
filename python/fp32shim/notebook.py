"""`%%fp32shim` in IPython and Jupyter, which shows the matrix products of a cell in a table and a flame graph below it.

    %load_ext fp32shim

    %%fp32shim --preview tf32
    model(batch)

`%load_ext fp32shim` loads this module, and so does the kernel that `fp32shim kernel install` adds. docs/python.md is the
page for users. IPython is imported only when something is shown.
"""

from __future__ import annotations

import argparse
import contextlib
import html
import linecache
import os
import pathlib
import re
import shlex
import subprocess
import typing

import fp32shim

NOT_LOADED = ("fp32shim: the library is not in this process, so %%fp32shim runs cells and shows nothing. Choose the kernel that "
              "`fp32shim kernel install` adds, or start IPython by `fp32shim run --where auto --log ipython.fp32rec -- ipython`.")
CELL_POLICY = "FP32SHIM_CELL_POLICY"  # environment variable with the path of a policy file for cells; set by kernel.py
NO_POLICY = "schema = 1\n"
# The default precision that previews a format on a CPU. Formats that are not listed here need a rule in a policy.
DEFAULTS = {"tf32": "high", "high": "high", "bf16": "medium", "medium": "medium"}
# The names of the formats that a CPU can preview: the names in policies (policy/formats.def) except `native` and `auto`.
PREVIEWS = (*DEFAULTS, "fp16", "e4m3", "e5m2", "bf16x9", "tf32x3", "bf16x3", "bf16x2", "xf32", "fp32_perturbed")
PRECISIONS = ("native", "highest", "high", "medium", "auto", "ieee", "fp32", "tf32", "bf16")


def register_magic(shell: typing.Any) -> None:
    """Adds `%%fp32shim` to an IPython shell. Prints one line if the library is not loaded."""
    shell.register_magic_function(CellMagic(shell).run_cell, "cell", "fp32shim")
    if not fp32shim.active():
        print(NOT_LOADED)


class MagicArgumentParser(argparse.ArgumentParser):
    def error(self, message: str) -> typing.NoReturn:
        raise usage_error(message)


def usage_error(message: str) -> Exception:
    """Returns an exception that IPython shows as one line."""
    from IPython.core.error import UsageError  # type: ignore[import-not-found,unused-ignore]

    return typing.cast(Exception, UsageError(f"%%fp32shim: {message}"))


def parse_fraction(text: str) -> float:
    with contextlib.suppress(ValueError):
        if 0 < float(text) <= 1:
            return float(text)
    raise argparse.ArgumentTypeError(f"found {text!r}; allowed: a number above 0, up to 1")


def split_words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError as problem:
        raise usage_error(f"{problem}: {line}") from None


def magic_argument_parser() -> MagicArgumentParser:
    parser = MagicArgumentParser(prog="%%fp32shim", add_help=False, allow_abbrev=False)
    parser.add_argument("--precision", choices=PRECISIONS)
    parser.add_argument("--preview", choices=PREVIEWS)
    parser.add_argument("--policy", metavar="FILE")
    parser.add_argument("--audit", type=parse_fraction, nargs="?", const=1.0, metavar="FRACTION")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("-o", "--output", metavar="NAME")
    return parser


class CellMagic:
    """The `%%fp32shim` cell magic of one IPython shell."""

    def __init__(self, shell: typing.Any):
        self.shell = shell

    def run_cell(self, line: str, cell: str) -> None:
        """Run the cell, and show its matrix products of float32 and float64 in a table and a flame graph.

        %%fp32shim [--precision WORD | --preview FORMAT | --policy FILE] [--audit [FRACTION]] [--table] [-o NAME]

        --precision WORD    run the cell's products at this precision, like fp32shim.set_precision
        --preview FORMAT    round the operands of products on a CPU to this format: tf32, bf16, fp16 ...
        --policy FILE       run the cell under this policy
        --audit [FRACTION]  also compute this fraction of the cell's products (default: all) in a second format
        --table             show only the table, without the flame graph
        -o NAME             also assign the products, an fp32shim.Products, to this variable
        """
        options = magic_argument_parser().parse_args(split_words(line))
        if options.output is not None and not options.output.isidentifier():
            raise usage_error(f"-o: found {options.output!r}; allowed: a name of Python")
        if not fp32shim.active():
            print(NOT_LOADED)
            raise_again(self.run_body(line, cell))
            return
        with options_in_force(options):
            with fp32shim.products() as seen:
                failure = self.run_body(line, cell)
        seen.file_names = cell_names(self.shell)
        if options.output is not None:
            self.shell.user_ns[options.output] = seen
        show_products(seen, with_graph=not options.table)
        raise_again(failure)

    def run_body(self, line: str, cell: str) -> BaseException | None:
        """Runs the cell as IPython does. Returns the exception that ended the cell, or None. IPython has not shown the
        exception yet."""
        # A comment replaces the line of the magic, so that lines have the same numbers as in the notebook.
        body = cell if cell.lstrip().startswith("%%") else f"# %%fp32shim {line}\n{cell}"
        hidden = {name: (lambda *_, **__: None) for name in ("showtraceback", "showsyntaxerror")}
        compiler = self.shell.compile
        cache = compiler_cache_for_running_cell(compiler, self.shell)
        with replaced_attributes(self.shell, hidden), replaced_attributes(compiler, {"cache": cache}):
            result = self.shell.run_cell(body, store_history=False)
        if result.error_before_exec is not None:  # a syntax error, whose traceback has only IPython's functions
            return typing.cast(BaseException, result.error_before_exec.with_traceback(None))
        return typing.cast("BaseException | None", result.error_in_exec)


def raise_again(failure: BaseException | None) -> None:
    __tracebackhide__ = True  # with this variable, IPython leaves this function out of tracebacks
    if failure is not None:
        raise failure


def compiler_cache_for_running_cell(compiler: typing.Any, shell: typing.Any) -> typing.Callable[..., str]:
    """Returns a replacement for the compiler's `cache` method, which gives names to code. The replacement uses the number
    of the running cell, because newer versions of IPython increase the execution count before a cell runs."""
    cache = compiler.cache
    number = len(shell.history_manager.input_hist_raw) - 1 if shell.history_manager is not None else shell.execution_count

    def name_of_running_cell(transformed_code: str, _: int = 0, raw_code: str | None = None) -> str:
        return typing.cast(str, cache(transformed_code, number, raw_code))

    return name_of_running_cell


@contextlib.contextmanager
def replaced_attributes(thing: object, attributes: dict[str, typing.Any]) -> typing.Iterator[None]:
    """Gives the object these attributes during a `with` block."""
    before = {name: vars(thing)[name] for name in attributes if name in vars(thing)}
    vars(thing).update(attributes)
    try:
        yield
    finally:
        for name in attributes:
            vars(thing).pop(name, None)
        vars(thing).update(before)


# ---- settings of a cell -------------------------------------------------------------------------------------------


@contextlib.contextmanager
def options_in_force(options: argparse.Namespace) -> typing.Iterator[None]:
    """Applies the options of a cell during a `with` block. Afterwards restores the settings that applied before."""
    given = [name for name in ("precision", "preview", "policy") if getattr(options, name) is not None]
    if len(given) > 1:
        raise usage_error(f"found --{given[0]} together with --{given[1]}; omit one of them")
    text = policy_text_of(options)
    precision = options.precision or DEFAULTS.get(options.preview)
    before = fp32shim.get_precision()
    with contextlib.ExitStack() as undo:
        if text is not None:
            undo.callback(put_policy_in_force, NO_POLICY)
            put_policy_in_force(text)
        if precision is not None:
            undo.callback(fp32shim.set_precision, before[0] if before and before[1] == "process" else None)
            fp32shim.set_precision(precision)
        yield


def policy_text_of(options: argparse.Namespace) -> str | None:
    """Returns the text of the policy that the options need, or None if they need no policy."""
    text = ""
    if options.policy is not None:
        text = read_checked_policy(options.policy)
    elif options.preview is not None and os.environ.get("FP32_MATMUL_CPU") != "emulate":
        text = '[cpu]\nmode = "emulate"\n'
    if options.preview is not None and options.preview not in DEFAULTS:
        text += f'[[rule]]\nname = "%%fp32shim --preview"\nprecision = "{options.preview}"\n'
    if options.audit is not None:
        if options.policy is not None and re.search(r"^\s*(\[\s*)?audit\b", text, re.MULTILINE):
            raise usage_error(f"--audit: {options.policy} has audit settings of its own; omit the option")
        text += f"\n[audit]\nsample = {options.audit}\n"
    if not text:
        return None
    return text if options.policy is not None else NO_POLICY + text


def read_checked_policy(path: str) -> str:
    """Returns the text of a policy file. Raises a usage error if the policy has errors."""
    check = subprocess.run([fp32shim.command_path(), "check", "--", path], capture_output=True, text=True, check=False)
    if check.returncode != 0:
        raise usage_error("--policy: " + (check.stdout + check.stderr).strip())
    return pathlib.Path(path).read_text(encoding="utf-8") + "\n"


def put_policy_in_force(text: str) -> None:
    """Applies a policy: writes its text into the policy file with which the kernel was started, and reloads this file."""
    path = os.environ.get(CELL_POLICY)
    if path is None or os.environ.get("FP32_MATMUL_POLICY") != path:
        found = os.environ.get("FP32_MATMUL_POLICY")
        raise usage_error("--preview, --policy and --audit need a kernel with a policy of its own, and this process "
                          + (f"was started with FP32_MATMUL_POLICY={found}" if found else "was not started as one")
                          + "; choose the kernel that `fp32shim kernel install` adds")
    pathlib.Path(path).write_text(text, encoding="utf-8")
    fp32shim.reload_policy()


# ---- what is shown ------------------------------------------------------------------------------------------------


def cell_names(shell: typing.Any) -> dict[str, str]:
    """Returns the names of cells, such as `In [7]`. The keys are the file names under which IPython compiles the cells."""
    if "IPYKERNEL_CELL_NAME" in os.environ:  # in this case, ipykernel gives the same name to all cells
        return {}
    names = {}
    for path in list(linecache.cache):
        known = shell.compile.format_code_name(path)
        number = re.fullmatch(r"In\[(\d+)\]", known[1]) if known else None
        if number:
            names[path] = f"In [{number[1]}]"
    return names


def show_products(seen: fp32shim.Products, with_graph: bool) -> None:
    """Shows the table of products and, in front ends that can show HTML, the flame graph."""
    from IPython.display import display  # type: ignore[import-not-found,unused-ignore]

    page = seen._repr_html_()
    if with_graph and seen._recordings_to_read():
        page += html_frame(seen.html())
    show_all: typing.Callable[..., object] = display
    show_all({"text/plain": seen.table(), "text/html": page}, raw=True)


# Hides the parts of a page that the output of a cell does not need, because the table above the frame has the totals, and
# the notebook names the process. So the frame begins with the page's warnings and its flame graph.
FRAME_STYLE = """<style nonce="{}">body > header, #filtered, #verdict, #complete, [aria-labelledby="totals-title"] {{ display: none }}
body {{ padding-top: 0 }} main > section {{ margin-top: 1rem }}</style>
"""


def html_frame(page: str) -> str:
    """Returns an iframe that shows a page. The page has no access to the notebook, and loads no other files."""
    nonce = re.search(r"style-src 'nonce-([0-9a-f]+)'", page)  # the page allows only styles with this nonce
    page = page.replace("</head>", FRAME_STYLE.format(nonce[1]) + "</head>", 1) if nonce else page
    return (f'<iframe sandbox="allow-scripts" title="fp32shim: flame graph and decisions" srcdoc="{html.escape(page)}" '
            'style="width:100%;height:480px;border:1px solid #8884;resize:vertical"></iframe>')
