"""What to do about a package that agents' code expects and that is not installed."""

# As it is imported → as pip calls it, and Debian.
PACKAGES = {"matplotlib": ("matplotlib", "python3-matplotlib"), "numpy": ("numpy", "python3-numpy"), "pandas": ("pandas", "python3-pandas"),
            "PIL": ("pillow", "python3-pil"), "IPython": ("ipython", "python3-ipython"), "scipy": ("scipy", "python3-scipy"),
            "sklearn": ("scikit-learn", "python3-sklearn"), "seaborn": ("seaborn", "python3-seaborn"), "plotly": ("plotly", "python3-plotly"),
            "requests": ("requests", "python3-requests"), "bs4": ("beautifulsoup4", "python3-bs4"), "yaml": ("pyyaml", "python3-yaml")}


def text_of(error):
    """The text of an exception; with the name of the package, and where it can come from, when that is what is missing."""
    try:
        text = str(error)
    except Exception:
        return "<exception str() failed>"
    name = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
    if name not in PACKAGES:
        return text
    pip, debian = PACKAGES[name]
    return f"{text} ({pip} is not installed in this sandbox: install it with %pip install {pip}, or on the host with apt-get install {debian})"
