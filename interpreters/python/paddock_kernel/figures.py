"""matplotlib without a window: figures become results when they are shown, or at the end of the cell."""
import io
import os
import sys

from . import charts

SHOW = None      # display(value), of the shell in use
FORMATS = ["png"]  # what %config InlineBackend.figure_format asks for
MIMES = {"png": "image/png", "retina": "image/png", "png2x": "image/png", "svg": "image/svg+xml", "jpeg": "image/jpeg",
         "jpg": "image/jpeg", "pdf": "application/pdf"}


def prepare(matplotlib):
    if "MPLBACKEND" not in os.environ:
        matplotlib.rcParams["backend"] = "agg"


def take_over(pyplot):
    def show(*_arguments, **_options):
        """Shows every open figure as a result of the cell."""
        show_open(pyplot)

    def show_one(figure, *_arguments, **_options):
        SHOW(figure)

    pyplot.show = show
    pyplot.Figure.show = show_one


def show_open(pyplot=None, but=()):
    """Shows and closes what is open. `but` has been shown already."""
    pyplot = pyplot or sys.modules.get("matplotlib.pyplot")
    if pyplot is None or not hasattr(pyplot, "get_fignums"):
        return
    try:
        for number in pyplot.get_fignums():
            figure = pyplot.figure(number)
            if not any(figure is one for one in but):
                SHOW(figure)
    finally:
        pyplot.close("all")


def is_figure(value):
    module = sys.modules.get("matplotlib.figure")
    return module is not None and isinstance(value, getattr(module, "Figure", ()))


def formats(figure):
    """The formats of a figure besides its text, by mime type."""
    if not figure.axes and not figure.lines and not figure.images and not figure.texts:
        return {}
    found = {}
    for name in FORMATS:
        if name in MIMES:
            found[MIMES[name]] = picture(figure, name)
    found["e2b/chart"] = charts.of_figure(figure)
    return found


def picture(figure, name):
    if figure.canvas is None or not hasattr(figure.canvas, "print_figure"):
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        FigureCanvasAgg(figure)
    twice = name in ("retina", "png2x")
    kind = "png" if twice else name
    data = io.BytesIO()
    figure.canvas.print_figure(data, format=kind, dpi=figure.dpi * (2 if twice else 1), bbox_inches="tight",
                               facecolor=figure.get_facecolor(), edgecolor=figure.get_edgecolor())
    return data.getvalue().decode("utf-8") if kind == "svg" else data.getvalue()
