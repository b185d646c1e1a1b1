"""What a value looks like in several formats (a mime bundle), as the result event that clients know."""
import base64

KEYS = {
    "text/plain": "text",
    "text/html": "html",
    "text/markdown": "markdown",
    "image/svg+xml": "svg",
    "image/png": "png",
    "image/jpeg": "jpeg",
    "application/pdf": "pdf",
    "text/latex": "latex",
    "application/json": "json",
    "application/javascript": "javascript",
    "e2b/data": "data",
    "e2b/chart": "chart",
}


def result(formats, is_main):
    event, extra = {"type": "result", "is_main_result": is_main}, {}
    for kind, value in formats.items():
        if value is None:
            continue
        if isinstance(value, (bytes, bytearray)):
            value = base64.b64encode(value).decode()
        key = KEYS.get(kind)
        if key is None:
            extra[kind] = value
        elif key == "text":
            event[key] = without_quotes(value)
        elif key in ("png", "jpeg", "pdf") and isinstance(value, str):
            event[key] = value.replace("\n", "")
        else:
            event[key] = value
    if extra:
        event["extra"] = extra
    return event


def without_quotes(text):
    """'hello' shows as hello, as the clients expect of a string."""
    if isinstance(text, str) and len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    return text
