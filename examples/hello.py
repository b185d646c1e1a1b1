"""paddock run --workspace examples:ro -- python3 hello.py"""
import os

print("hello from", os.getcwd(), "as", os.environ["USER"])
