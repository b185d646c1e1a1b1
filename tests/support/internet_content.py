"""What the fake Internet's web servers offer as files: a pip index with one wheel, and a git repository."""
import base64
import hashlib
import os
import shutil
import subprocess
import zipfile

PACKAGE = "paddock_sample"


def make_files(folder):
    """Fills `folder`/files."""
    root = os.path.join(folder, "files")
    os.mkdir(root)
    _make_index(root)
    if shutil.which("git"):
        _make_repository(root)


def _make_index(root):
    wheel = f"{PACKAGE}-1.0-py3-none-any.whl"
    page = os.path.join(root, "simple", PACKAGE.replace("_", "-"))
    os.makedirs(page)
    os.mkdir(os.path.join(root, "wheels"))
    files = {f"{PACKAGE}.py": "ANSWER = 42\n",
             f"{PACKAGE}-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: paddock-sample\nVersion: 1.0\n",
             f"{PACKAGE}-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}

    def line(name, text):
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        return f"{name},sha256={digest},{len(text)}\n"

    record = f"{PACKAGE}-1.0.dist-info/RECORD"
    with zipfile.ZipFile(os.path.join(root, "wheels", wheel), "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
        archive.writestr(record, "".join(line(name, text) for name, text in files.items()) + f"{record},,\n")
    with open(os.path.join(page, "index.html"), "w") as file:
        file.write(f'<html><body><a href="/wheels/{wheel}">{wheel}</a></body></html>\n')


def _make_repository(root):
    """A bare repository as files are enough: git reads it over plain HTTP when its index of references is there."""
    work, bare = os.path.join(root, "work"), os.path.join(root, "git", "sample.git")
    environment = {"PATH": os.environ["PATH"], "HOME": root, "GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_NAME": "Test", "GIT_AUTHOR_EMAIL": "test@good.example",
                   "GIT_COMMITTER_NAME": "Test", "GIT_COMMITTER_EMAIL": "test@good.example"}

    def git(*arguments):
        subprocess.run(["git", *arguments], check=True, capture_output=True, env=environment)

    git("init", "-q", "-b", "main", work)
    with open(os.path.join(work, "hello.txt"), "w") as file:
        file.write("hello from git\n")
    git("-C", work, "add", ".")
    git("-C", work, "commit", "-q", "-m", "First")
    git("clone", "-q", "--bare", work, bare)
    git("-C", bare, "update-server-info")
    shutil.rmtree(work)
