"""Cells as IPython runs them, with results and errors as events and no terminal."""
import builtins
import os
import traceback
import warnings

import IPython
from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.formatters import BaseFormatter, JSONFormatter
from IPython.core.interactiveshell import InteractiveShell
from traitlets import Any, Bool, ObjectName, Unicode
from traitlets.config import Config
from traitlets.config.configurable import SingletonConfigurable

from . import bundle, commands, figures, frames, images, missing, plain

WIRE = None
SIMPLE = {int, float, bool, str, bytes, complex}


class Hook(DisplayHook):
    """The value of a cell's last expression."""

    def compute_format_data(self, result):
        if type(result) in SIMPLE:  # a dozen formatters have nothing to say to a number
            return {"text/plain": self.shell.display_formatter.formatters["text/plain"](result)}, {}
        return super().compute_format_data(result)

    def write_output_prompt(self):
        pass

    def write_format_data(self, format_dict, md_dict=None):
        result = self.exec_result.result if self.exec_result is not None else None
        if figures.is_figure(result):
            self.shell.shown.append(result)
        WIRE.flush()
        WIRE.send(bundle.result(format_dict, True), soon=True)

    def finish_displayhook(self):
        pass


class Publisher(DisplayPublisher):
    """What display() is called with."""

    def publish(self, data, metadata=None, source=None, *, transient=None, update=False, **_):
        WIRE.flush()
        WIRE.send(bundle.result(data, False))

    def clear_output(self, wait=False):
        pass


class Terminal(InteractiveShell):
    displayhook_class, display_pub_class = Hook, Publisher
    shown = Any()

    def _showtraceback(self, etype, evalue, stb):
        WIRE.flush()
        WIRE.send({"type": "error", "name": etype.__name__, "value": missing.text_of(evalue), "traceback": "\n".join(stb)})
        self.told = True

    def enable_gui(self, gui=None):
        pass

    def enable_matplotlib(self, gui=None):
        return gui or "inline", "agg"

    def ask_exit(self):
        raise SystemExit(0)

    def system(self, command):
        """!command: its output goes where all subprocesses' goes."""
        command = self.var_expand(command, depth=1)
        WIRE.flush()
        self.user_ns["_exit_code"] = commands.run(command)

    system_piped = system_raw = system


class DataFormatter(BaseFormatter):
    format_type, print_method, _return_type = Unicode("e2b/data"), ObjectName("_repr_e2b_data_"), (dict, str)

    def __call__(self, value):
        return frames.data(value) if frames.is_frame(value) else super().__call__(value)


class ChartFormatter(BaseFormatter):
    format_type, print_method, _return_type = Unicode("e2b/chart"), ObjectName("_repr_e2b_chart_"), (dict, str)


class JsonFormatter(JSONFormatter):
    """Lists and dictionaries are data as well as text."""

    def __call__(self, value):
        if type(value) in (list, dict):
            return plain.clean(value)
        return super().__call__(value)


class InlineBackend(SingletonConfigurable):
    """%config InlineBackend.figure_format = 'retina'"""

    figure_format = Unicode("png", allow_none=True).tag(config=True)
    figure_formats = Any(None, allow_none=True).tag(config=True)
    rc = Any(None, allow_none=True).tag(config=True)
    print_figure_kwargs = Any(None, allow_none=True).tag(config=True)
    close_figures = Bool(True).tag(config=True)

    def __init__(self, **options):
        super().__init__(**options)
        self.observe(lambda change: self.choose([change.new or "png"]), "figure_format")
        self.observe(lambda change: self.choose(change.new or ["png"]), "figure_formats")

    def choose(self, names):
        figures.FORMATS[:] = [names] if isinstance(names, str) else list(names)


class Shell:
    def __init__(self, wire):
        global WIRE
        WIRE = wire
        settings = Config()
        settings.HistoryManager.enabled = False
        settings.InteractiveShell.colors = "NoColor"
        settings.InteractiveShell.banner1 = ""
        settings.InteractiveShell.ast_node_interactivity = "last_expr"
        os.environ.setdefault("IPYTHONDIR", os.path.join(os.environ.get("TMPDIR", "/tmp"), f".ipython-{os.getuid()}"))
        self.shell = Terminal.instance(config=settings)
        os.environ.pop("IPYTHONDIR", None)
        self.shell.shown = []
        self.shell.configurables.append(InlineBackend.instance())
        self.engine = f"ipython {IPython.__version__}"
        formatter = self.shell.display_formatter
        formatter.active_types = list(formatter.formatters) + ["e2b/data", "e2b/chart"]
        formatter.formatters["e2b/data"] = DataFormatter(parent=formatter)
        formatter.formatters["e2b/chart"] = ChartFormatter(parent=formatter)
        formatter.formatters["application/json"] = JsonFormatter(parent=formatter)
        formatter.mimebundle_formatter.for_type_by_name("matplotlib.figure", "Figure", figures.formats)
        warnings.filterwarnings("ignore", message="To exit: use")  # nobody types here
        builtins.display = IPython.display.display
        figures.SHOW = images.SHOW = IPython.display.display

    def count(self):
        return self.shell.execution_count

    def run(self, code):
        self.shell.shown, self.shell.told = [], False
        result = self.shell.run_cell(code, store_history=True)
        error = result.error_before_exec or result.error_in_exec
        if error and not self.shell.told:  # IPython could not format it (an interrupt within our own files) and only printed it
            self.shell._showtraceback(type(error), error, traceback.format_exception(type(error), error, error.__traceback__))
        figures.show_open(but=self.shell.shown)
        self.shell.shown = []
