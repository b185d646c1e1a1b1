"""Values in several formats, without IPython: what _repr_html_() and its like say, and a text."""
import pprint
import types

from . import figures, frames, plain

METHODS = {
    "_repr_html_": "text/html",
    "_repr_markdown_": "text/markdown",
    "_repr_svg_": "image/svg+xml",
    "_repr_png_": "image/png",
    "_repr_jpeg_": "image/jpeg",
    "_repr_pdf_": "application/pdf",
    "_repr_latex_": "text/latex",
    "_repr_json_": "application/json",
    "_repr_javascript_": "application/javascript",
    "_repr_e2b_data_": "e2b/data",
    "_repr_e2b_chart_": "e2b/chart",
}
SIMPLE = (int, float, bool, str, bytes, complex, types.FunctionType, type)


def text(value):
    try:
        if isinstance(value, (dict, list, tuple, set)):
            return pprint.pformat(value, width=80, compact=True, sort_dicts=False)
        return repr(value)
    except Exception as error:
        return f"<{type(value).__name__}: repr() failed with {type(error).__name__}>"


def formats(value):
    found = {"text/plain": text(value)}
    if isinstance(value, SIMPLE):
        return found
    if type(value) in (list, dict):
        found["application/json"] = plain.clean(value)
        return found
    for name, kind in METHODS.items():
        said = ask(value, name)
        if said is not None:
            found[kind] = said
    bundle = ask(value, "_repr_mimebundle_", include=None, exclude=None)
    if isinstance(bundle, dict):
        found.update(bundle)
    if figures.is_figure(value):
        found.update(figures.formats(value))
    if frames.is_frame(value):
        found["e2b/data"] = frames.data(value)
    return found


def ask(value, name, **options):
    method = getattr(type(value), name, None) or getattr(value, "__dict__", {}).get(name)
    if method is None or isinstance(value, type):
        return None
    try:
        said = getattr(value, name)(**options)
    except Exception:  # an object that cannot show itself in one format still has the others
        return None
    return said[0] if isinstance(said, tuple) and len(said) == 2 and isinstance(said[1], dict) else said
