"""Cells without IPython: the last expression is the result, await works, !commands and the magics that people use."""
import ast
import asyncio
import builtins
import inspect
import linecache
import os
import sys
import traceback
import types

from . import bundle, commands, figures, images, magics, missing, rich, source

HERE = os.path.dirname(os.path.abspath(__file__))


class Shell:
    engine = "paddock"

    def __init__(self, wire):
        self.wire, self.number, self.loop, self.shown = wire, 1, None, []
        main = types.ModuleType("__main__")
        sys.modules["__main__"] = main  # what is defined in cells can be pickled
        self.names = main.__dict__
        self.names.update(__builtins__=builtins, In=[""], Out={}, get_ipython=lambda: self, display=self.display)
        self.hidden = set(self.names) | {"_", "__", "___", "_exit_code"}
        builtins.display = self.display
        builtins.exit = builtins.quit = sys.exit  # the usual ones close sys.stdin
        figures.SHOW = images.SHOW = self.display

    def count(self):
        return self.number

    def run(self, code):
        number, self.number, self.shown = self.number, self.number + 1, []
        self.names["In"].append(code)
        try:
            self.run_code(code, number)
        except BaseException as error:
            self.report(error)
        figures.show_open(but=self.shown)

    def run_code(self, code, number):
        if code.lstrip().startswith("%%"):
            first, _, body = code.lstrip().partition("\n")
            name, _, line = first[2:].partition(" ")
            self.result(self.run_cell_magic(name.strip(), line.strip(), body), number)
            return
        name = f"<cell {number}>"
        tree, code = self.parse(source.without_indent(code), name)
        linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
        last = None
        if tree.body and isinstance(tree.body[-1], ast.Expr) and not code.rstrip().endswith(";"):
            last = ast.Expression(tree.body.pop().value)
        self.execute(compile(tree, name, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True))
        if last is not None:
            value = self.execute(compile(last, name, "eval", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True))
            self.result(value, number)

    def parse(self, code, name):
        """Python as it is, or else what becomes Python once commands and magics are calls."""
        flags = ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        try:
            return compile(code, name, "exec", flags, dont_inherit=True), code
        except SyntaxError as error:
            changed = source.to_python(code)
            if changed.rstrip("\n") == code.rstrip("\n"):
                linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
                raise error
            return compile(changed, name, "exec", flags, dont_inherit=True), changed

    def execute(self, compiled):
        value = eval(compiled, self.names)
        if not compiled.co_flags & inspect.CO_COROUTINE:
            return value
        if self.loop is None or self.loop.is_closed():
            self.loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self.loop)
        task = self.loop.create_task(value)
        try:
            return self.loop.run_until_complete(task)
        except KeyboardInterrupt:
            task.cancel()
            self.loop.run_until_complete(asyncio.gather(task, return_exceptions=True))
            raise

    def result(self, value, number):
        if value is None:
            return
        names = self.names
        names["___"], names["__"], names["_"] = names.get("__"), names.get("_"), value
        names["Out"][number] = names[f"_{number}"] = value
        if figures.is_figure(value):
            self.shown.append(value)
        self.show(value, True)

    def show(self, value, is_main):
        if callable(getattr(type(value), "_ipython_display_", None)):
            value._ipython_display_()
            return
        formats = rich.formats(value)
        self.wire.flush()
        self.wire.send(bundle.result(formats, is_main), soon=is_main)

    def display(self, *values, raw=False, **_):
        """Shows values as results of the cell; raw=True takes {"text/html": …} as it is."""
        for value in values:
            if raw and isinstance(value, dict):
                self.wire.flush()
                self.wire.send(bundle.result(value, False))
            else:
                self.show(value, False)

    def report(self, error):
        frames = error.__traceback__
        while frames is not None and frames.tb_frame.f_code.co_filename.startswith(HERE):
            frames = frames.tb_next
        text = "".join(traceback.format_exception(type(error), error, frames))
        self.wire.flush()
        self.wire.send({"type": "error", "name": type(error).__name__, "value": missing.text_of(error), "traceback": text})

    # What rewritten cells call; the names are IPython's.

    def system(self, command):
        self.wire.flush()
        self.names["_exit_code"] = commands.run(magics.expand(command, self.names))

    def lines(self, command):
        return commands.lines_of(magics.expand(command, self.names))

    def run_line_magic(self, name, line):
        return magics.line(self, name, line)

    def run_cell_magic(self, name, line, body):
        return magics.cell(self, name, line, body)

    def help(self, name):
        value = eval(name, self.names)
        print(inspect.getdoc(value) or rich.text(value))
