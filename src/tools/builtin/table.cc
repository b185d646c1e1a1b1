#include "tools/builtin/table.h"

#include <cstdlib>

#include "base/text.h"

namespace paddock::tools::builtin {

namespace {

// Members that several schemas share: $SANDBOX stands for kSandbox, and so on.
constexpr char kSandbox[] =
    R"("sandbox":{"type":"string","minLength":1,"maxLength":64,"description":"Id or name of a sandbox of yours. Leave it out to use your default one, which is made when it is first needed and kept between calls."})";
constexpr char kNotes[] =
    R"("notes":{"type":"array","items":{"type":"string"},"description":"What to know about this result: lost state, denials, what was left out."})";
constexpr char kOutcome[] =
    R"("outcome":{"type":"object","properties":{"kind":{"type":"string"},"code":{"type":"integer"},"signal":{"type":"string"},"limit":{"type":"string"},"value":{"type":"number"},"peak":{"type":"number"},"why":{"type":"string"}},"required":["kind"]})";
constexpr char kDenials[] =
    R"("network_denials":{"type":"array","items":{"type":"object","properties":{"host":{"type":"string"},"port":{"type":"integer"},"protocol":{"type":"string"},"rule":{"type":"string"},"why":{"type":"string"}},"required":["host","port","rule","why"]}})";
constexpr char kStreams[] =
    R"("stdout":{"type":"string"},"stdout_bytes":{"type":"integer"},"stdout_truncated":{"type":"boolean"},"stderr":{"type":"string"},"stderr_bytes":{"type":"integer"},"stderr_truncated":{"type":"boolean"})";
constexpr char kDescribed[] =
    R"("sandbox":{"type":"string"},"name":{"type":"string"},"state":{"type":"string"},"template":{"type":"string"},"created":{"type":"string"},"ends":{"type":["string","null"]},"allow_hosts":{"type":"array","items":{"type":"string"}},"memory_bytes":{"type":"integer"},"metadata":{"type":"object"},"is_default":{"type":"boolean"})";

std::string filled_in(std::string text) {
  struct Piece {
    const char* name;
    const char* text;
  };
  for (const Piece& piece : {Piece{"$SANDBOX", kSandbox},
                             {"$NOTES", kNotes},
                             {"$OUTCOME", kOutcome},
                             {"$DENIALS", kDenials},
                             {"$STREAMS", kStreams},
                             {"$DESCRIBED", kDescribed}})
    for (size_t at; (at = text.find(piece.name)) != std::string::npos;)
      text.replace(at, std::string_view(piece.name).size(), piece.text);
  return text;
}

// Written here, so it can be read; a test does.
Value parsed(const std::string& text) {
  Result<Value> value = parse_json(text, "schema");
  if (!value) std::abort();
  return std::move(value).value();
}

}  // namespace

const std::vector<Entry>& entries() {
  static const std::vector<Entry> all = {
      {"run_code", "Run code", "sandboxes", run_code,
       "Runs code in a persistent interpreter inside an isolated sandbox, like a notebook cell: "
       "variables, imports and functions stay for the next call. "
       "Use it for calculations, data analysis, plots and anything that needs state. The value of "
       "the last expression is the result; matplotlib figures and images come back as pictures. "
       "An exception comes back as an error with its traceback and leaves the state as it is. Use "
       "run_command for shell commands and programs.",
       R"json("code":{"type":"string","maxLength":1000000,"description":"The code of one cell.","examples":["import math\nmath.sqrt(2)"]},
          "language":{"type":"string","enum":["python","javascript","typescript","bash","java"],"default":"python","description":"Each language has a default context of its own."},
          "context":{"type":"string","minLength":1,"maxLength":64,"description":"Name of a context with variables of its own; made when it is first used. Leave it out to go on in the default one."},
          "timeout":{"type":"number","exclusiveMinimum":0,"maximum":3600,"default":120,"description":"Seconds. Then the cell is interrupted."},
          "env":{"type":"object","additionalProperties":{"type":"string"},"maxProperties":100,"description":"Environment variables for this cell alone."},
          "max_output":{"type":"integer","minimum":1024,"maximum":1048576,"default":65536,"description":"Bytes of stdout and of stderr to give back; the middle of what is longer is left out."},
          $SANDBOX)json",
       "code",
       R"json("sandbox":{"type":"string"},"context":{"type":"string"},
          "results":{"type":"array","items":{"type":"object","properties":{"is_main_result":{"type":"boolean"},"text":{"type":"string"},"formats":{"type":"array","items":{"type":"string"}},"chart":{"type":"object"}},"required":["is_main_result","text","formats"]}},
          $STREAMS,"error":{"type":["object","null"],"properties":{"name":{"type":"string"},"value":{"type":"string"},"traceback":{"type":"string"}}},$OUTCOME,"duration_ms":{"type":"integer"},$DENIALS,$NOTES)json",
       "sandbox,context,results,stdout,stderr,error,outcome,notes",
       R"json("readOnlyHint":false,"destructiveHint":true,"idempotentHint":false,"openWorldHint":true)json"},

      {"run_command", "Run a command", "sandboxes", run_command,
       "Runs one command inside an isolated sandbox and gives its exit code, stdout and stderr. "
       "Use it for shell work: git, package managers, compilers, tests, programs. "
       "Files, installed packages and background processes stay for the next call; the shell's own "
       "variables and directory do not (give cwd and env, or use run_code with language bash). "
       "It waits until the command ends or its timeout is over; start servers with `nohup … &`.",
       R"json("command":{"type":"string","minLength":1,"maxLength":100000,"description":"A line for bash -lc.","examples":["python3 -m pytest -q 2>&1 | tail -40"]},
          "argv":{"type":"array","items":{"type":"string","maxLength":100000},"minItems":1,"maxItems":1000,"description":"Instead of command: the program and its arguments, without a shell.","examples":[["ls","-la","/workspace"]]},
          "cwd":{"type":"string","maxLength":4096,"description":"Working directory; the user's home, or /workspace where there is one, unless it is given."},
          "env":{"type":"object","additionalProperties":{"type":"string"},"maxProperties":100,"description":"Environment variables besides those of the sandbox."},
          "stdin":{"type":"string","maxLength":1000000,"description":"Text for its standard input, which is closed after it."},
          "timeout":{"type":"number","exclusiveMinimum":0,"maximum":3600,"default":120,"description":"Seconds. Then the command is killed."},
          "max_output":{"type":"integer","minimum":1024,"maximum":1048576,"default":65536,"description":"Bytes of stdout and of stderr to give back; the middle of what is longer is left out."},
          $SANDBOX)json",
       "",
       R"json("sandbox":{"type":"string"},"exit_code":{"type":["integer","null"],"description":"null when it did not end by itself."},$OUTCOME,$STREAMS,"duration_ms":{"type":"integer"},$DENIALS,$NOTES)json",
       "sandbox,exit_code,outcome,stdout,stderr,notes",
       R"json("readOnlyHint":false,"destructiveHint":true,"idempotentHint":false,"openWorldHint":true)json"},

      {"read_file", "Read a file", "sandboxes", read_file,
       "Reads a file of the sandbox: text by lines, pictures (png, jpeg, gif, webp) as pictures. "
       "For long texts give offset and limit. Use search_files to find something, list_files to "
       "see what is there.",
       R"json("path":{"type":"string","minLength":1,"maxLength":4096,"description":"Absolute, or relative to the working directory.","examples":["/workspace/README.md","notes.txt"]},
          "offset":{"type":"integer","minimum":1,"default":1,"description":"The first line, counted from 1."},
          "limit":{"type":"integer","minimum":1,"maximum":100000,"default":2000,"description":"How many lines."},
          "encoding":{"type":"string","enum":["auto","text","base64"],"default":"auto","description":"base64 gives the bytes of what is no text, up to 512K."},
          $SANDBOX)json",
       "path",
       R"json("sandbox":{"type":"string"},"path":{"type":"string"},"size":{"type":"integer","description":"Bytes of the whole file."},"encoding":{"type":"string","enum":["text","base64","image"]},"content":{"type":"string"},"mime_type":{"type":"string"},
          "first_line":{"type":"integer"},"last_line":{"type":"integer"},"lines":{"type":["integer","null"]},"truncated":{"type":"boolean"},$NOTES)json",
       "sandbox,path,size,encoding,notes",
       R"json("readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false)json"},

      {"write_file", "Write a file", "sandboxes", write_file,
       "Writes a file of the sandbox; what was in it is replaced, unless append is true. "
       "Directories above it are made. Better than echo in a shell: nothing has to be quoted.",
       R"json("path":{"type":"string","minLength":1,"maxLength":4096,"description":"Absolute, or relative to the working directory.","examples":["src/main.py"]},
          "content":{"type":"string","maxLength":3000000,"description":"Text, as it shall stand in the file."},
          "base64":{"type":"string","maxLength":4000000,"contentEncoding":"base64","description":"Instead of content: bytes."},
          "append":{"type":"boolean","default":false,"description":"Add to the end of the file."},
          "executable":{"type":"boolean","default":false,"description":"Mode 755."},
          $SANDBOX)json",
       "path",
       R"json("sandbox":{"type":"string"},"path":{"type":"string"},"size":{"type":"integer","description":"Bytes of the file now."},"written":{"type":"integer"},$NOTES)json",
       "sandbox,path,size,written,notes",
       R"json("readOnlyHint":false,"destructiveHint":true,"idempotentHint":false,"openWorldHint":false)json"},

      {"list_files", "List files", "sandboxes", list_files,
       "Lists a directory of the sandbox, with what lies beneath it down to `depth`.",
       R"json("path":{"type":"string","maxLength":4096,"description":"A directory; the working directory unless it is given."},
          "depth":{"type":"integer","minimum":1,"maximum":32,"default":1},
          "details":{"type":"boolean","default":false,"description":"Permissions, owner and time of change as well."},
          $SANDBOX)json",
       "",
       R"json("sandbox":{"type":"string"},"path":{"type":"string"},"truncated":{"type":"boolean"},
          "entries":{"type":"array","items":{"type":"object","properties":{"path":{"type":"string"},"type":{"type":"string","enum":["file","directory","symlink","other"]},"size":{"type":"integer"},"target":{"type":"string"},"permissions":{"type":"string"},"owner":{"type":"string"},"group":{"type":"string"},"modified":{"type":"string"}},"required":["path","type","size"]}},$NOTES)json",
       "sandbox,path,truncated,entries,notes",
       R"json("readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false)json"},

      {"search_files", "Search files", "sandboxes", search_files,
       "Finds files of the sandbox by what they contain (pattern), by how they are called (glob), "
       "or both. Results are path:line:text. Binary files and .git are left out.",
       R"json("pattern":{"type":"string","minLength":1,"maxLength":4096,"description":"A regular expression as grep -E knows it; plain text with literal=true.","examples":["def +main","TODO"]},
          "glob":{"type":"string","minLength":1,"maxLength":1024,"description":"Which files: of names (*.py), or of paths beneath `path` when it has a slash (src/**/*.py)."},
          "path":{"type":"string","maxLength":4096,"description":"Where; the working directory unless it is given."},
          "literal":{"type":"boolean","default":false,"description":"The pattern is plain text."},
          "case_sensitive":{"type":"boolean","default":true},
          "limit":{"type":"integer","minimum":1,"maximum":5000,"default":200,"description":"At most so many matches."},
          $SANDBOX)json",
       "",
       R"json("sandbox":{"type":"string"},"matches":{"type":"array","items":{"type":"object","properties":{"path":{"type":"string"},"line":{"type":"integer"},"text":{"type":"string"}},"required":["path"]}},"truncated":{"type":"boolean"},$NOTES)json",
       "sandbox,matches,truncated,notes",
       R"json("readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false)json"},

      {"create_sandbox", "Create a sandbox", "sandboxes", create_sandbox,
       "Makes another isolated sandbox, besides your default one: for a network allowlist "
       "(allow_hosts), another template, more memory, or work that shall not touch the rest. "
       "Give its id as `sandbox` to the other tools. What the policy does not allow is left out, "
       "and the notes say so.",
       R"json("template":{"type":"string","minLength":1,"maxLength":128,"default":"base","description":"What it is made from."},
          "name":{"type":"string","pattern":"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$","description":"A name for it, unique among yours."},
          "allow_hosts":{"type":"array","items":{"type":"string","minLength":1,"maxLength":255},"maxItems":100,"description":"Hosts it may reach: names, *.example.com, addresses, with :port if needed. None unless they are given.","examples":[["pypi.org","files.pythonhosted.org"]]},
          "memory":{"type":"string","pattern":"^[0-9]+(\\.[0-9]+)?[KMG]?$","description":"Such as 512M.","examples":["512M"]},
          "timeout":{"type":"number","minimum":0,"description":"Seconds it lives; 0 until it is killed or has been idle for long."},
          "env":{"type":"object","additionalProperties":{"type":"string"},"maxProperties":100,"description":"Environment variables of everything in it."},
          "metadata":{"type":"object","additionalProperties":{"type":"string"},"maxProperties":50})json",
       "", R"json($DESCRIBED,$NOTES)json", "sandbox,state,allow_hosts,notes",
       R"json("readOnlyHint":false,"destructiveHint":false,"idempotentHint":false,"openWorldHint":false)json"},

      {"list_sandboxes", "List sandboxes", "read", list_sandboxes,
       "Lists your sandboxes: which there are, what network each has, how long they live, and "
       "which one is your default.",
       R"json("limit":{"type":"integer","minimum":1,"maximum":100,"default":100})json", "",
       R"json("sandboxes":{"type":"array","items":{"type":"object","properties":{$DESCRIBED},"required":["sandbox","state"]}},"truncated":{"type":"boolean"},$NOTES)json",
       "sandboxes,notes",
       R"json("readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false)json"},

      {"kill_sandbox", "End a sandbox", "sandboxes", kill_sandbox,
       "Ends a sandbox of yours at once. Its processes and files are gone (but for /workspace). "
       "Use it when you are done with one that you made, or to begin afresh.",
       R"json("sandbox":{"type":"string","minLength":1,"maxLength":64,"description":"Its id or name."})json",
       "sandbox", R"json("sandbox":{"type":"string"},"killed":{"type":"boolean"},$NOTES)json",
       "sandbox,killed,notes",
       R"json("readOnlyHint":false,"destructiveHint":true,"idempotentHint":false,"openWorldHint":false)json"},

      {"network_log", "Network log", "read", network_log,
       "Tells what a sandbox asked of the network: each lookup, connection and request with its "
       "verdict, the rule that decided and the reason. Use it when something could not be reached "
       "or downloaded.",
       R"json("denied_only":{"type":"boolean","default":false},"limit":{"type":"integer","minimum":1,"maximum":1000,"default":100,"description":"The last so many."},$SANDBOX)json",
       "",
       R"json("sandbox":{"type":"string"},"allow_hosts":{"type":"array","items":{"type":"string"}},
          "entries":{"type":"array","items":{"type":"object","properties":{"time":{"type":"string"},"host":{"type":"string"},"port":{"type":"integer"},"protocol":{"type":"string"},"method":{"type":"string"},"path":{"type":"string"},"status":{"type":"integer"},"verdict":{"type":"string"},"rule":{"type":"string"},"why":{"type":"string"},"error":{"type":"string"},"bytes_up":{"type":"integer"},"bytes_down":{"type":"integer"}},"required":["time","host","port"]}},"truncated":{"type":"boolean"},$NOTES)json",
       "sandbox,allow_hosts,entries,notes",
       R"json("readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false)json"},

      {"explain_denial", "Explain a denial", "read", explain_denial,
       "Explains why a call of a tool was denied (by the id that the denial names), or whether one "
       "would be allowed (tool and arguments; it is judged, not made). Use it before trying the "
       "same call again.",
       R"json("id":{"type":"string","minLength":1,"maxLength":128,"description":"Of a call that was denied."},
          "tool":{"type":"string","minLength":1,"maxLength":256,"description":"Instead of id: a tool you think of calling."},
          "arguments":{"type":"object","description":"And with what."})json",
       "", R"json("id":{"type":"string"},"decision":{"type":"object"},$NOTES)json",
       "id,decision,notes",
       R"json("readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false)json"},
  };
  return all;
}

namespace {

Value schema_of(const char* members, const std::string& required) {
  Value schema;
  schema.set("type", "object");
  schema.set("properties", parsed(filled_in(cat("{", members, "}"))));
  if (!required.empty()) schema.set("required", text_list(split(required, ',')));
  schema.set("additionalProperties", false);
  return schema;
}

}  // namespace

ToolInfo to_tool(const Entry& entry) {
  ToolInfo tool;
  tool.name = entry.name;
  tool.title = entry.title;
  tool.description = entry.description;
  tool.input_schema = schema_of(entry.input, entry.required);
  tool.output_schema = schema_of(entry.output, entry.promised);
  tool.annotations = parsed(cat("{\"title\":\"", entry.title, "\",", entry.annotations, "}"));
  return tool;
}

}  // namespace paddock::tools::builtin
