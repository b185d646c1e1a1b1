"""Box plots, read from what boxplot() draws: a box (a patch, or a line of five points), two whiskers, a median, outliers."""


def rounded(value):
    """Ten digits: quartiles are interpolated, and 90.49999999999999 was 90.5."""
    return float(f"{float(value):.10g}")


def corners(line):
    return [rounded(x) for x in line.get_xdata()], [rounded(y) for y in line.get_ydata()]


def is_rectangle(line):
    if len(line.get_xdata()) != 5:
        return False
    try:
        x, y = corners(line)
    except (TypeError, ValueError):  # dates, texts
        return False
    return x[0] == x[4] and y[0] == y[4] and len(set(x)) == len(set(y)) == 2


def are_drawn_with_lines(lines):
    """Rectangles and the lines between and around them: five or more for each."""
    boxes = sum(is_rectangle(one) for one in lines)
    return boxes > 0 and len(lines) >= 6 * boxes


def outlines(axes):
    """Each box as (left, right, bottom, top)."""
    if axes.patches:
        paths = [one.get_path().vertices for one in axes.patches]
        edges = [([rounded(x) for x in path[:, 0]], [rounded(y) for y in path[:, 1]]) for path in paths]
    else:
        edges = [corners(one) for one in axes.lines if is_rectangle(one)]
    return [(min(x), max(x), min(y), max(y)) for x, y in edges]


def read(axes):
    """The boxes as elements of a chart without their labels, and whether they lie."""
    found = outlines(axes)
    whiskers = [corners(one) for one in axes.lines if len(one.get_xdata()) == 2]
    # A whisker leaves the middle of a box: up from it, or sideways.
    upright = sum(x[0] == x[1] and any(same((left + right) / 2, x[0]) for left, right, _, _ in found) for x, _ in whiskers)
    sideways = sum(y[0] == y[1] and any(same((low + high) / 2, y[0]) for _, _, low, high in found) for _, y in whiskers)
    lying = sideways > upright
    boxes = []
    for left, right, low, high in found:
        boxes.append(one_box(axes, (low, high, left, right) if lying else (left, right, low, high), lying))
    return boxes, lying


def same(a, b):
    return abs(a - b) <= 1e-9 * max(1.0, abs(a), abs(b))


def one_box(axes, outline, lying):
    left, right, low, high = outline
    box = {"min": low, "first_quartile": low, "median": low, "third_quartile": high, "max": high, "outliers": []}
    for line in axes.lines:
        x, y = corners(line)
        if lying:
            x, y = y, x
        if not x or min(x) < left or max(x) > right:
            continue
        if line.get_linestyle() in ("None", "", " ") and line.get_marker() not in ("None", "", " ", None):
            box["outliers"] += [value for value in y if value < low or value > high]
        elif len(x) == 2 and y[0] == y[1] and low <= y[0] <= high and x != [left, right][:1] * 2:
            box["median"] = y[0]
        elif len(x) == 2 and same(max(y), low) and x[0] == x[1]:
            box["min"] = min(y)
        elif len(x) == 2 and same(min(y), high) and x[0] == x[1]:
            box["max"] = max(y)
    return box
