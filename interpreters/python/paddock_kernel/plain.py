"""Values of the user's code as strict JSON: what has no JSON form becomes the nearest that has, and never an error."""
import base64
import json
import math

DEEPEST = 50


def to_json(value):
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, check_circular=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError, OverflowError):
        text = json.dumps(clean(value), ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace")  # half a surrogate pair becomes "?"


def clean(value, depth=0):
    if value is None or value is True or value is False or type(value) is str:
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, (bytes, bytearray)):
        return base64.b64encode(bytes(value)).decode()
    if depth > DEEPEST:
        return "…"
    if isinstance(value, dict):
        return {key if type(key) is str else str(key): clean(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [clean(item, depth + 1) for item in value]
    for name in ("isoformat", "tolist", "item"):  # dates, numpy arrays, numpy scalars
        convert = getattr(value, name, None)
        if callable(convert):
            try:
                converted = convert()
            except Exception:
                continue
            return clean(converted, depth + 1) if type(converted) is not type(value) else str(value)
    return str(value)
