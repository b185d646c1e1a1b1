"""pandas tables as data: {"column": [values]}, times in ISO form."""
import sys


def is_frame(value):
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(value, getattr(pandas, "DataFrame", ()))


def data(frame):
    columns = frame.to_dict(orient="list")
    return {key if isinstance(key, str) else str(key): [one(value) for value in values] for key, values in columns.items()}


def one(value):
    if value is None or isinstance(value, (str, int, float)):
        return value
    pandas = sys.modules["pandas"]
    try:
        if pandas.isna(value) is True:
            return None
    except (TypeError, ValueError):
        pass
    return value.isoformat() if hasattr(value, "isoformat") else value
