"""Reads the data back out of a matplotlib figure: lines, points, bars, pies, boxes. For matplotlib 3.5 and later.

A chart that is none of these is "unknown"; a figure without data has none ({}).
"""
import math
import re
import sys

from . import chart_boxes

UNIT = re.compile(r"\s\((.*?)\)|\[(.*?)\]")  # "Time (s)", "Speed [m/s]"


def of_figure(figure):
    try:
        axes = [one for one in figure.get_axes() if one.get_label() != "<colorbar>"]
        if not any(one.has_data() for one in axes):
            return {}
        if len(axes) == 1:
            return of_axes(axes[0])
        title = figure._suptitle.get_text() if figure._suptitle is not None else None
        return {"type": "superchart", "title": title, "elements": [of_axes(one) for one in axes]}
    except Exception:
        return {}


def of_axes(axes):
    kind = kind_of(axes)
    try:
        return READERS[kind](axes)
    except Exception:  # an artist of a library that we do not know
        return unknown(axes)


def kind_of(axes):
    from matplotlib import collections, lines, patches, text

    artists = [one for one in axes.get_children() if getattr(one, "axes", None) is axes and one in own_children(axes)]
    artists = [one for one in artists if not isinstance(one, text.Text)]
    if all(isinstance(one, lines.Line2D) for one in artists):
        return "box_and_whisker" if chart_boxes.are_drawn_with_lines(artists) else "line"
    if all(isinstance(one, (patches.PathPatch, lines.Line2D)) for one in artists):
        return "box_and_whisker"
    artists = [one for one in artists if not (isinstance(one, lines.Line2D) and is_reference(one, axes))]
    if all(isinstance(one, collections.PathCollection) for one in artists):
        return "scatter"
    if all(isinstance(one, patches.Wedge) for one in artists):
        return "pie"
    if any(type(one).__name__ == "BarContainer" for one in axes.containers):
        # Error bars stand on bars as lines and collections of lines.
        marks = [one for one in artists if not isinstance(one, (lines.Line2D, collections.LineCollection))]
        if marks and all(isinstance(one, patches.Rectangle) for one in marks):
            return "bar"
    return "unknown"


def own_children(axes):
    """What was drawn, without spines, axes, title and background."""
    children = getattr(axes, "_children", None)
    if children is not None:
        return children
    return [*axes.lines, *axes.patches, *axes.collections, *axes.images, *axes.artists, *axes.texts, *axes.tables]


def is_reference(line, axes):
    """axhline and axvline: lines across the chart that are not data."""
    x, y = list(line.get_xdata()), list(line.get_ydata())
    return len(x) == len(y) == 2 and (x[0] == x[1] or y[0] == y[1]) and line.get_transform() != axes.transData


def unknown(axes):
    return {"type": "unknown", "title": axes.get_title() or None, "elements": []}


def flat(axes, kind):
    """What all charts with two axes have."""
    x_label, y_label = axes.get_xlabel() or None, axes.get_ylabel() or None
    return {"type": kind, "title": axes.get_title() or None, "x_label": x_label, "y_label": y_label,
            "x_unit": unit(x_label), "y_unit": unit(y_label), "elements": []}


def turned(chart):
    """Lying bars and boxes: their values are along x, and the chart is told as if they stood."""
    chart["x_label"], chart["y_label"] = chart["y_label"], chart["x_label"]
    chart["x_unit"], chart["y_unit"] = chart["y_unit"], chart["x_unit"]
    return chart


def unit(label):
    match = UNIT.search(label) if label else None
    return (match.group(1) or match.group(2)) if match else None


def converter_name(axis):
    """The converter matplotlib chose for the data's type; its attribute became a method in 3.10."""
    converter = axis.get_converter() if hasattr(axis, "get_converter") else axis.converter
    return type(converter).__name__ if converter is not None else ""


def is_date(axis):
    return "Date" in converter_name(axis)


def date_text(number):
    from matplotlib import dates
    return dates.num2date(number).isoformat()


def with_ticks(chart, axes):
    for name, axis in (("x", axes.xaxis), ("y", axes.yaxis)):
        places = list(axis.get_ticklocs())
        labels = [label.get_text() for label in axis.get_ticklabels()]
        chart[f"{name}_ticks"] = [date_text(one) if is_date(axis) else number(one) for one in places]
        chart[f"{name}_tick_labels"] = labels
        chart[f"{name}_scale"] = scale(axis, places, labels)
    return chart


def scale(axis, places, labels):
    if is_date(axis):
        return "datetime"
    if axis.get_scale() != "linear":
        return axis.get_scale()
    if "Category" in converter_name(axis):
        return "categorical"
    # Labels of one's own at 0, 1, 2 …
    named = places and all(place == index and label != str(index) for index, (place, label) in enumerate(zip(places, labels)))
    return "categorical" if named and any(labels) else "linear"


def number(value):
    value = float(value)
    return value if math.isfinite(value) else None


def value_of(value):
    """A coordinate as the user gave it: a number, a text, or a time in ISO form."""
    if isinstance(value, str):
        return value
    if hasattr(value, "isoformat"):
        return value.isoformat()
    numpy = sys.modules["numpy"]
    if isinstance(value, numpy.datetime64):
        return str(value.astype("datetime64[s]"))
    try:
        return number(value)
    except (TypeError, ValueError):
        return str(value)


def line(axes):
    chart = with_ticks(flat(axes, "line"), axes)
    for one in axes.get_lines():
        if is_reference(one, axes):
            continue
        label = str(one.get_label())
        if label.startswith("_child"):
            label = "Line " + label[len("_child"):]
        points = [[value_of(x), value_of(y)] for x, y in zip(one.get_xdata(), one.get_ydata())]
        chart["elements"].append({"label": label, "points": points})
    return chart


def scatter(axes):
    chart = with_ticks(flat(axes, "scatter"), axes)
    read_x = date_text if is_date(axes.xaxis) else value_of
    read_y = date_text if is_date(axes.yaxis) else value_of
    for one in axes.collections:
        points = [[read_x(x), read_y(y)] for x, y in one.get_offsets()]
        chart["elements"].append({"label": str(one.get_label()), "points": points})
    return chart


def pie(axes):
    wedges = [{"label": str(one.get_label()), "angle": short(abs(float(one.theta2) - float(one.theta1))), "radius": number(one.r)}
              for one in axes.patches]
    return {"type": "pie", "title": axes.get_title() or None, "elements": wedges}


def short(value):
    """Angles are computed in single precision: 323.99999 was 324."""
    return float(f"{value:.6g}")


def bar(axes):
    chart = flat(axes, "bar")
    containers = [one for one in axes.containers if type(one).__name__ == "BarContainer"]
    lying = bool(containers) and all(getattr(one, "orientation", None) == "horizontal" for one in containers)
    axis = axes.yaxis if lying else axes.xaxis
    ticks = list(zip(axis.get_ticklocs(), (label.get_text() for label in axis.get_ticklabels())))
    for index, container in enumerate(containers):
        group = str(container.get_label())
        if group.startswith("_"):
            group = f"Group {index}"
        for place, rectangle in enumerate(container):
            value = rectangle.get_width() if lying else rectangle.get_height()
            label = bar_label(rectangle, place, len(container), ticks, lying)
            chart["elements"].append({"label": label, "group": group, "value": number(value)})
    return turned(chart) if lying else chart


def bar_label(rectangle, place, count, ticks, lying):
    if len(ticks) == count:  # a label for each: also where bars of a group stand beside their tick
        return ticks[place][1]
    start, width = (rectangle.get_y(), rectangle.get_height()) if lying else (rectangle.get_x(), rectangle.get_width())
    near = [text for at, text in ticks if text and abs(at - (start + width / 2)) <= abs(width) / 100]
    return near[0] if near else f"{start + width / 2:g}"


def box_and_whisker(axes):
    chart = flat(axes, "box_and_whisker")
    boxes, lying = chart_boxes.read(axes)
    axis = axes.yaxis if lying else axes.xaxis
    labels = [label.get_text() for label in axis.get_ticklabels()]
    for index, box in enumerate(boxes):
        chart["elements"].append({"label": labels[index] if index < len(labels) else str(index + 1), **box})
    return turned(chart) if lying else chart


READERS = {"line": line, "scatter": scatter, "pie": pie, "bar": bar, "box_and_whisker": box_and_whisker, "unknown": unknown}
