// What the builder does inside a sandbox, as root there. Plain sh, since a root may be very small;
// everything that a user named comes as an argument, never as part of the text. Directories that
// are made on the way get the owner of the files.
#pragma once

namespace paddock::templates {

// STAGE
inline constexpr char kMakeStage[] = R"sh(rm -rf "$1" && mkdir -p "$1" && chmod 700 "$1")sh";

// STAGE SOURCE TARGET OWNER MODE USER CWD. A directory's content is merged into the target; a file
// becomes the target, or goes into it when that ends with a slash, is a directory, or SOURCE is a
// pattern.
inline constexpr char kCopyScript[] = R"sh(
stage=$1 source=$2 target=$3 owner=$4 mode=$5 user=$6 cwd=$7
fail() { echo "$1" >&2; rm -rf "$stage"; exit 1; }
read -r _ _ ids < /proc/self/uid_map
if [ -z "$cwd" ]; then
  cwd=$(grep "^$user:" /etc/passwd | cut -d: -f6)
  [ -n "$cwd" ] || cwd=/
fi
case $target in /*) ;; *) target=$cwd/$target ;; esac
case $owner in *:*) ;; *) owner=$owner: ;; esac
give() {
  chown $2 -h "$owner" "$1" 2>/tmp/.paddock-error && { rm -f /tmp/.paddock-error; return 0; }
  # With a single id there is nobody to give files to.
  [ "$ids" = 1 ] && { rm -f /tmp/.paddock-error; return 0; }
  why=$(cat /tmp/.paddock-error); rm -f /tmp/.paddock-error
  fail "$why"
}
make() {
  [ -d "$1" ] && return 0
  make "$(dirname "$1")"
  mkdir "$1" || fail "cannot make $1"
  give "$1"
}
place() {
  give "$1" -R
  if [ -d "$1" ] && [ ! -L "$1" ]; then
    [ -z "$mode" ] || chmod -R "$mode" "$1" || fail "cannot change the mode of $1"
    make "$target"
    for inner in "$1"/* "$1"/.[!.]* "$1"/..?*; do
      if [ -e "$inner" ] || [ -L "$inner" ]; then
        cp -a "$inner" "$target"/ || fail "cannot copy to $target"
      fi
    done
    return 0
  fi
  [ -z "$mode" ] || [ -L "$1" ] || chmod "$mode" "$1" || fail "cannot change the mode of $1"
  case $target in
    */) make "$target"; mv -f "$1" "$target" || fail "cannot write to $target" ;;
    *) make "$(dirname "$target")"; mv -f "$1" "$target" || fail "cannot write to $target" ;;
  esac
}
cd "$stage" || fail "the files are gone"
source=./$source
case $source in
  *[*?[]*)
    case $target in */) ;; *) target=$target/ ;; esac
    IFS=
    found=
    for entry in $source; do
      [ -e "$entry" ] || [ -L "$entry" ] || continue
      found=1
      if [ -d "$entry" ] && [ ! -L "$entry" ]; then
        give "$entry" -R; make "$target"; cp -a "$entry" "$target" || fail "cannot copy to $target"
      else
        place "$entry"
      fi
    done
    [ -n "$found" ] || fail "source path does not exist: $source"
    ;;
  *)
    [ -e "$source" ] || [ -L "$source" ] || fail "source path does not exist: $source"
    place "$source"
    ;;
esac
cd / && rm -rf "$stage"
)sh";

// PATH USER CWD: prints "made PATH" or "kept PATH". Directories that were missing belong to the
// user.
inline constexpr char kWorkdirScript[] = R"sh(
path=$1 user=$2 cwd=$3
case $path in
  /*) ;;
  *) path=${cwd:-/}/$path ;;
esac
if [ -d "$path" ]; then cd "$path" && echo "kept $(pwd)"; exit; fi
new=$path
while [ ! -d "$(dirname "$new")" ]; do new=$(dirname "$new"); done
mkdir -p "$path" || exit 1
read -r _ _ ids < /proc/self/uid_map
if [ "$ids" != 1 ]; then chown -R "$user:" "$new" || exit 1; fi
cd "$path" && echo "made $(pwd)"
)sh";

// NAME: prints "made" or "kept". One that is missing is made, with a home.
inline constexpr char kUserScript[] = R"sh(
case $1 in
  *[!0-9]*) ;;
  *) echo kept; exit ;;
esac
if grep -q "^$1:" /etc/passwd; then echo kept; exit; fi
shell=/bin/sh
[ -x /bin/bash ] && shell=/bin/bash
if command -v useradd >/dev/null; then
  useradd -m -s "$shell" "$1" >&2 || exit 1
elif ! adduser -D -s "$shell" "$1" 2>/dev/null >&2; then
  id=1001
  while grep -q ":x:$id:" /etc/passwd /etc/group; do id=$((id + 1)); done
  echo "$1:x:$id:$id::/home/$1:$shell" >> /etc/passwd
  echo "$1:x:$id:" >> /etc/group
  mkdir -p "/home/$1" || exit 1
  read -r _ _ ids < /proc/self/uid_map
  if [ "$ids" != 1 ]; then chown "$id:$id" "/home/$1" || exit 1; fi
fi
echo made
)sh";

}  // namespace paddock::templates
