"""A tool as a command: its arguments are on stdin as one JSON object, its result is the JSON that it prints. It fails by its exit status."""
import json
import sys

# Of each month: mean temperature in °C, rain in mm.
CLIMATE = {
    "Cairo": [(14, 5), (15, 4), (18, 4), (22, 1), (25, 0), (28, 0), (28, 0), (28, 0), (27, 0), (24, 1), (20, 4), (15, 6)],
    "Lima": [(23, 1), (24, 1), (23, 1), (22, 0), (20, 1), (18, 1), (17, 2), (17, 2), (17, 2), (18, 1), (20, 1), (22, 1)],
    "Oslo": [(-4, 49), (-4, 36), (0, 47), (5, 41), (11, 53), (15, 65), (16, 81), (15, 89), (11, 90), (6, 84), (1, 73), (-3, 55)],
    "Tokyo": [(5, 60), (6, 57), (9, 117), (14, 134), (19, 140), (22, 168), (26, 156), (27, 155), (23, 225), (18, 235), (12, 96), (8, 58)],
}

call = json.load(sys.stdin)
city, month = call["city"], call.get("month", 1)
if city not in CLIMATE:
    sys.exit(f"there is no city {city!r} here; there are {', '.join(CLIMATE)}")
temperature, rain = CLIMATE[city][month - 1]
if call.get("unit") == "fahrenheit":
    temperature = temperature * 9 / 5 + 32
print(json.dumps({"city": city, "month": month, "temperature": temperature, "rain_mm": rain}))
