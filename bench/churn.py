"""Whether a server grows slower with use: twenty clients create, run a command and kill for minutes.

    churn.py PADDOCK [--seconds 300] [--runs 3]

Prints p50 and p99 of a create in the first and in the last minute of each run, and the median of last ÷ first (p50).
"""
import argparse
import statistics

from living import Server, measure_parallel


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("paddock")
    parser.add_argument("--seconds", type=int, default=300)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    ratios = []
    for number in range(options.runs):
        server = Server(options.paddock)
        try:
            result = measure_parallel(server, 20, options.seconds, min(60, options.seconds / 5))
        finally:
            server.close()
        ratios.append(result["last"]["p50"] / result["first"]["p50"])
        print(f"run {number + 1}: {result['per_second']}/s, {result['failed']} failed; create p50/p99 first "
              f"{result['first']['p50']}/{result['first']['p99']} ms, last {result['last']['p50']}/{result['last']['p99']} ms, "
              f"ratio {ratios[-1]:.2f}", flush=True)
    print(f"last / first, median of {len(ratios)} runs: {statistics.median(ratios):.2f}")


if __name__ == "__main__":
    main()
