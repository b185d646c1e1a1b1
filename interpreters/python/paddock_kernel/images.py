"""PIL images: show() and save() to a path give a result."""
import io
import os

SHOW = None  # display(value), of the shell in use


def take_over(module):
    save = module.Image.save

    def show(image, title=None):
        SHOW(image)

    def save_and_show(image, fp, format=None, **options):
        if isinstance(fp, (str, os.PathLike)):
            SHOW(image)
        save(image, fp, format, **options)

    def png(image):
        data = io.BytesIO()
        try:
            save(image, data, "PNG")
        except (OSError, ValueError):  # a mode that PNG does not know
            data = io.BytesIO()
            save(image.convert("RGB"), data, "PNG")
        return data.getvalue()

    module.Image.show = show
    module.Image.save = save_and_show
    module.Image._repr_png_ = png
