// Calls judged by [[tools]]: the examples of the documents, and what somebody would send who wants
// past them.
#include "policy/tools/tool.h"

#include <chrono>
#include <cmath>

#include "policy/decode.h"
#include "policy/explain.h"
#include "policy/test_cases.h"
#include "policy/tools/entry.h"

namespace paddock::policy {

namespace {

Tools tools_of(const std::string& toml) {
  Result<Policy> policy = decode_text(toml, "test.toml", {});
  EXPECT_TRUE(policy) << policy.error().message;
  Result<Tools> tools = Tools::compile(policy.value());
  EXPECT_TRUE(tools) << tools.error().message;
  return std::move(tools).value();
}

Value json(const std::string& text) {
  Result<Value> value = parse_json(text, "arguments");
  EXPECT_TRUE(value) << text << ": " << value.error().message;
  return value ? std::move(value).value() : Value();
}

// A tool with one rule, about parameter p unless the rule says otherwise.
Tool tool_with(const std::string& rule) {
  return *tools_of("[[tools]]\nname = \"t\"\nrules = [ " + rule + " ]\n").find("t");
}

bool allows(const Tool& tool, const std::string& arguments) {
  return tool.decide(json(arguments)).kind == Decision::Kind::allow;
}
bool allows_text(const Tool& tool, const std::string& text) {
  Value arguments;
  arguments.set("p", text);
  return tool.decide(arguments).kind == Decision::Kind::allow;
}

const char kContract[] = R"(
[[tools]]
name = "send_email"
rate = "10/minute"
schema = { type = "object", required = ["to"], properties = { to = { type = "string" } } }
rules = [ { param = "to", ends_with = "@company.com", why = "only inside the company" } ]

[[tools]]
name = "delete_file"
rules = [ { param = "path", not_starts_with = "/system/", why = "system files stay" } ]
)";

}  // namespace

TEST(Tool, TheContractsExamplesBehaveAsWritten) {
  Tools tools = tools_of(kContract);
  const Tool& mail = *tools.find("send_email");
  EXPECT_TRUE(allows(mail, R"({"to": "ann@company.com", "body": "hello"})"));
  Decision decision = mail.decide(json(R"({"to": "eve@evil.example"})"));
  EXPECT_EQ(decision.kind, Decision::Kind::deny);
  EXPECT_EQ(decision.rule, "tools.send_email.rules[0]");
  EXPECT_EQ(decision.why, "to must end with '@company.com': only inside the company");
  decision = mail.decide(json("{}"));
  EXPECT_EQ(decision.rule, "tools.send_email.schema");
  EXPECT_EQ(mail.decide(json(R"({"to": 7})")).rule, "tools.send_email.schema");
  ASSERT_EQ(mail.rates.size(), 1u);
  EXPECT_EQ(mail.rates[0].count, 10u);
  EXPECT_EQ(mail.rates[0].period_ms, 60'000);

  const Tool& remove = *tools.find("delete_file");
  EXPECT_TRUE(allows(remove, R"({"path": "/tmp/x"})"));
  EXPECT_TRUE(allows(remove, R"({"path": "notes.txt"})"));
  EXPECT_TRUE(allows(remove, R"({"path": "/systemd/x"})"));
  decision = remove.decide(json(R"({"path": "/system/kernel"})"));
  EXPECT_EQ(decision.rule, "tools.delete_file.rules[0]");
  EXPECT_EQ(decision.why, "path must not start with '/system/': system files stay");
  EXPECT_EQ(remove.decide(json("{}")).why, "path is missing: system files stay");
  EXPECT_EQ(remove.decide(json(R"({"path": ["/tmp"]})")).why,
            "path must be a string, not a list: system files stay");
}

TEST(Tool, TheContractsExamplesCannotBeWrittenRound) {
  Tools tools = tools_of(kContract);
  for (const char* to :
       {"x@company.com.evil.example", "x@COMPANY.com", "x@company.com ", "x@company.com\\u0000",
        "x@evil.example\\u0000@company.com", "x\\uff20company.com", "x@c\\u043empany.com", ""})
    EXPECT_FALSE(allows(*tools.find("send_email"), cat("{\"to\": \"", to, "\"}"))) << to;
  EXPECT_FALSE(allows(*tools.find("send_email"), R"({"to": ["x@company.com"]})"));
  EXPECT_FALSE(allows(*tools.find("send_email"), R"({"To": "x@company.com"})"));
  for (const char* path : {"/system/x",
                           "//system/x",
                           "/./system/x",
                           "/tmp/../system/x",
                           "/tmp/../../../system/x",
                           "/system",
                           "/system/.",
                           "///system///",
                           "/tmp/..//system/x",
                           "\\\\system\\\\x",
                           "/tmp\\\\..\\\\system\\\\x",
                           "/%73ystem/x",
                           "/tmp/%2e%2e/system/x",
                           "/tmp/%252e%252e%252fsystem/x",
                           "%2fsystem%2fx",
                           " /system/x",
                           "\\t/system/x",
                           "file:///system/x",
                           "FILE:/system/x",
                           "file://localhost/system/x",
                           "system/x",
                           "./system/x",
                           "../system/x",
                           "a/../../system/x",
                           "~/x",
                           "~root/x",
                           "/tmp/x\\u0000/../../system/x",
                           "/tmp/%00/../../system/y",
                           "/tmp/x/../../system"})
    EXPECT_FALSE(allows(*tools.find("delete_file"), cat("{\"path\": \"", path, "\"}"))) << path;
  // Case is not folded.
  for (const char* path : {"/System/x", "/tmp/system/x", "/tmp/a%b", "/tmp/100%25.txt",
                           "/tmp/..x/y", "/systems/x", "a/system/x"})
    EXPECT_TRUE(allows(*tools.find("delete_file"), cat("{\"path\": \"", path, "\"}"))) << path;
  EXPECT_EQ(
      tools.find("delete_file")->decide(json(R"({"path": "/tmp/../system/x"})")).why,
      "path must not start with '/system/' (it can be read as '/system/x'): system files stay");
}

TEST(Tool, NamesAreExact) {
  Tools tools = tools_of(kContract);
  for (const char* name : {"Send_email", "send_email ", " send_email", "send-email", "send_emai",
                           "send_email\n", "s\xd0\xb5nd_email", ""})
    EXPECT_EQ(tools.find(name), nullptr) << name;
  EXPECT_EQ(tools.find(std::string_view("send_email\0", 11)), nullptr);
}

TEST(Tool, ArgumentsAreAnObject) {
  Tool tool = *tools_of("[[tools]]\nname = \"t\"\n").find("t");
  EXPECT_EQ(tool.decide(Value()).kind, Decision::Kind::allow);
  EXPECT_TRUE(allows(tool, "{}"));
  for (const char* arguments : {"[]", "\"x\"", "7", "true"})
    EXPECT_FALSE(allows(tool, arguments)) << arguments;
}

TEST(Rules, StartsWithAPathHoldsForEveryReading) {
  Tool tool = tool_with(R"({ param = "p", starts_with = "/srv/" })");
  for (const char* path : {"/srv/x", "/srv/", "/srv/a/../b", "/srv/./x", "/srv//x", "/srv/a b"})
    EXPECT_TRUE(allows_text(tool, path)) << path;
  for (const char* path :
       {"/srv/../etc/passwd", "/srv/a/../../etc", "/srv", "srv/x", "/srv/..", "/srv/%2e%2e/etc",
        "/srv/..\\..\\etc", "/srv/%252e%252e/etc", "//srv/x", "/srvx/y"})
    EXPECT_FALSE(allows_text(tool, path)) << path;
  // Without a slash in front it is about text.
  EXPECT_TRUE(
      allows_text(tool_with(R"({ param = "p", starts_with = "Dear" })"), "Dear\n\nfriend ../.."));
}

TEST(Rules, TextsAreComparedByteForByte) {
  EXPECT_TRUE(allows_text(tool_with(R"({ param = "p", ends_with = [".txt", ".md"] })"), "a.md"));
  EXPECT_FALSE(allows_text(tool_with(R"({ param = "p", ends_with = [".txt", ".md"] })"), "a.sh"));
  EXPECT_FALSE(allows_text(tool_with(R"({ param = "p", not_ends_with = ".sh" })"), "a.sh"));
  // Who reads lines sees more than the last one.
  for (const char* text :
       {"a@evil.com\n@company.com", "a@evil.com\r@company.com", "a@evil.com\u2028@company.com",
        "a@evil.com\u0085@company.com", "a@evil.com\x0b@company.com", "x\n@company.com"})
    EXPECT_FALSE(allows_text(tool_with(R"({ param = "p", ends_with = "@company.com" })"), text))
        << printable(text);
  EXPECT_FALSE(allows_text(tool_with(R"({ param = "p", not_ends_with = ".sh" })"), "a.sh\nb.txt"));
  EXPECT_TRUE(allows_text(tool_with(R"({ param = "p", ends_with = "end\n" })"), "one\nend\n"));
  EXPECT_TRUE(allows_text(tool_with(R"({ param = "p", contains = "ok" })"), "it is ok now"));
  EXPECT_FALSE(allows_text(tool_with(R"({ param = "p", not_contains = ["drop", "delete"] })"),
                           "please delete"));
  EXPECT_TRUE(allows_text(tool_with(R"({ param = "p", matches = "[a-z]+@company\\.com" })"),
                          "ann@company.com"));
  EXPECT_FALSE(allows_text(tool_with(R"({ param = "p", matches = "[a-z]+@company\\.com" })"),
                           "ann@company.com.evil"));  // as a whole
  EXPECT_FALSE(allows_text(tool_with(R"({ param = "p", matches = "[a-z]+" })"), "abc\n"));
  EXPECT_FALSE(allows_text(tool_with(R"({ param = "p", one_of = ["é"] })"),
                           "e\xcc\x81"));  // composed and not: other bytes
  EXPECT_FALSE(allows_text(tool_with(R"({ param = "p", one_of = ["admin"] })"),
                           "\xd0\xb0"
                           "dmin"));
  EXPECT_FALSE(
      allows_text(tool_with(R"({ param = "p", not_one_of = ["/etc/passwd"] })"), "/etc//passwd"));
  EXPECT_FALSE(
      allows_text(tool_with(R"({ param = "p", one_of = ["/etc/hosts"] })"), "/etc//hosts"));
}

TEST(Rules, LengthsCountCharactersAndItems) {
  Tool tool = tool_with(R"({ param = "p", min_length = 2, max_length = 3 })");
  EXPECT_TRUE(allows(tool, R"({"p": "äöü"})"));
  EXPECT_FALSE(allows(tool, R"({"p": "äöüß"})"));
  EXPECT_FALSE(allows(tool, R"({"p": "a"})"));
  EXPECT_TRUE(allows(tool, R"({"p": [1, 2, 3]})"));
  EXPECT_FALSE(allows(tool, R"({"p": {"a": 1, "b": 2}})"));
}

TEST(Rules, NumbersAreExact) {
  Tool tool = tool_with(R"({ param = "p", min = 0, max = 9007199254740993 })");
  EXPECT_TRUE(allows(tool, R"({"p": 9007199254740993})"));
  EXPECT_FALSE(allows(tool, R"({"p": 9007199254740994})"));
  EXPECT_FALSE(allows(tool, R"({"p": 9007199254740994.0})"));
  EXPECT_FALSE(allows(tool, R"({"p": -1})"));
  EXPECT_FALSE(allows(tool, R"({"p": -0.5})"));
  EXPECT_TRUE(allows(tool, R"({"p": -0.0})"));
  EXPECT_FALSE(allows(tool, R"({"p": 1e300})"));
  EXPECT_FALSE(allows(tool, R"({"p": 99999999999999999999999})"));
  EXPECT_FALSE(allows(tool, R"({"p": "5"})"));
  EXPECT_FALSE(allows(tool, R"({"p": true})"));
  EXPECT_FALSE(allows(tool, R"({"p": null})"));
  EXPECT_FALSE(allows(tool, R"({"p": [5]})"));
  Value nan;
  nan.set("p", std::nan(""));
  EXPECT_EQ(tool.decide(nan).kind, Decision::Kind::deny);
  Tool choice =
      tool_with(R"({ param = "p", one_of = [5, 9007199254740993, true, "x", [1, 2], { a = 1 }] })");
  for (const char* p : {"5", "5.0", "9007199254740993", "true", "\"x\"", "[1, 2]", "{\"a\": 1}"})
    EXPECT_TRUE(allows(choice, cat("{\"p\": ", p, "}"))) << p;
  for (const char* p : {"\"5\"", "9007199254740992.0", "9007199254740992", "1", "false", "[2, 1]",
                        "{\"a\": 1, \"b\": 2}", "null"})
    EXPECT_FALSE(allows(choice, cat("{\"p\": ", p, "}"))) << p;
}

TEST(Rules, PathUnder) {
  Tool tool = tool_with(R"({ param = "p", path_under = ["/srv/data", "/tmp"] })");
  for (const char* path : {"/srv/data", "/srv/data/", "/srv/data/x", "/tmp/a/../b",
                           "/srv/x/../data/y", "/tmp/100%25", "/tmp/a\\b"})
    EXPECT_TRUE(allows_text(tool, path)) << path;
  for (const char* path :
       {"/srv/database", "/srv/data/../other", "/tmp/..", "x", "./x", "../x", "", "~/x", "~",
        "/tmp/..\\etc", "/tmp/%2e%2e/etc", "/tmp/%2e%2e%2fetc", "/tmp/..%5cetc",
        "/tmp/%252e%252e/etc", "/TMP/x", "file:///etc/passwd", "/"})
    EXPECT_FALSE(allows_text(tool, path)) << path;
  EXPECT_FALSE(allows_text(tool, std::string("/tmp/x\0/../../etc", 17)));
  EXPECT_FALSE(allows_text(tool, "/tmp/" + std::string(100'000, 'a')));
  Decision decision = tool.decide(json(R"({"p": "x"})"));
  EXPECT_EQ(decision.why, "p must be an absolute path");
  Tool relative = tool_with(R"({ param = "p", path_under = "/work/src", from = "/work" })");
  EXPECT_TRUE(allows_text(relative, "src/a.c"));
  EXPECT_TRUE(allows_text(relative, "/work/src/a.c"));
  EXPECT_TRUE(allows_text(relative, "x/../src/a.c"));
  for (const char* path : {"a.c", "src/../../etc", "../work/../etc", "~/src"})
    EXPECT_FALSE(allows_text(relative, path)) << path;
}

TEST(Rules, HostIn) {
  Tool tool = tool_with(
      R"({ param = "p", host_in = ["api.example.com", "*.cdn.example.com:443", "10.1.0.0/16"] })");
  for (const char* url :
       {"https://api.example.com/x", "http://api.example.com:8080", "API.EXAMPLE.COM",
        "api.example.com:22", "https://a.cdn.example.com/?q=a@b", "wss://a.b.cdn.example.com",
        "a.cdn.example.com:443", "https://10.1.2.3/", "api.example.com."})
    EXPECT_TRUE(allows_text(tool, url)) << url;
  for (const char* url : {"https://evil.example/",
                          "https://api.example.com@evil.example/",
                          "https://api.example.com:pw@evil.example/",
                          "https://evil.example#api.example.com",
                          "https://evil.example/api.example.com",
                          "https://api.example.com\\@evil.example",
                          "https:\\\\api.example.com",
                          "https:/api.example.com",
                          "https:api.example.com",
                          "https:///api.example.com",
                          "//api.example.com/x",
                          "javascript://api.example.com/%0aalert(1)",
                          "file:///etc/passwd",
                          "http://a.cdn.example.com/",
                          "a.cdn.example.com",
                          "https://cdn.example.com/",
                          "https://api.example.com.evil.example/",
                          "https://evilapi.example.com",
                          "https://api.example.com :443/",
                          " https://api.example.com",
                          "https://api.example.com\t/",
                          "https://api%2eexample.com/",
                          "https://api.example.com:0/",
                          "https://api.example.com:/",
                          "https://api.example.com:99999/",
                          "https://api.example.com?@evil.example/",
                          "https://api.example.com#@evil.example/",
                          "http://0x0a010203/",
                          "http://10.66051/",
                          "http://167837955/",
                          "https://\xef\xbd\x81pi.example.com/",
                          "https://[::ffff:10.2.0.1]/",
                          "data:text/html,x",
                          "api.example.com/x",
                          "",
                          "https://"})
    EXPECT_FALSE(allows_text(tool, url)) << url;
  EXPECT_TRUE(allows_text(tool, "https://[::ffff:10.1.2.3]/"));  // the same address
  Tool outside = tool_with(
      R"({ param = "p", not = { host_in = ["*.internal.example", "internal.example:443"] } })");
  EXPECT_TRUE(allows_text(outside, "https://example.com/"));
  for (const char* url :
       {"https://x.internal.example/", "https://internal.example/", "internal.example",
        "https://X.INTERNAL.example./", "not a host", "https://x@example.com/"})
    EXPECT_FALSE(allows_text(outside, url)) << url;
}

TEST(Rules, ReachIntoObjectsAndLists) {
  Tool nested = tool_with(R"({ param = "filter.path", starts_with = "/srv/" })");
  EXPECT_TRUE(allows(nested, R"({"filter": {"path": "/srv/x"}})"));
  EXPECT_FALSE(allows(nested, R"({"filter": {"path": "/etc/x"}})"));
  EXPECT_FALSE(allows(nested, R"({"filter.path": "/srv/x"})"));
  EXPECT_EQ(nested.decide(json(R"({"filter": "x"})")).why,
            "filter must be an object, not a string");
  EXPECT_EQ(nested.decide(json(R"({"filter": {}})")).why, "filter.path is missing");
  Tool items = tool_with(R"({ param = "to[]", ends_with = "@company.com" })");
  EXPECT_TRUE(allows(items, R"({"to": ["a@company.com", "b@company.com"]})"));
  EXPECT_TRUE(allows(items, R"({"to": []})"));
  EXPECT_EQ(items.decide(json(R"({"to": ["a@company.com", "b@evil.example"]})")).why,
            "to[1] must end with '@company.com'");
  EXPECT_FALSE(allows(items, R"({"to": "a@company.com"})"));
  EXPECT_FALSE(allows(items, R"({"to": [["a@company.com"]]})"));
  Tool deep = tool_with(R"({ param = "mails[].to[]", ends_with = "@company.com" })");
  EXPECT_TRUE(allows(deep, R"({"mails": [{"to": ["a@company.com"]}, {"to": []}]})"));
  EXPECT_EQ(deep.decide(json(R"({"mails": [{"to": ["a@company.com"]}, {}]})")).why,
            "mails[1].to is missing");
}

TEST(Rules, AMissingParameterIsADenialUnlessItIsOptional) {
  EXPECT_FALSE(allows(tool_with(R"({ param = "p", max = 5 })"), "{}"));
  Tool tool = tool_with(R"({ param = "p", max = 5, optional = true })");
  EXPECT_TRUE(allows(tool, "{}"));
  EXPECT_FALSE(allows(tool, R"({"p": 6})"));
  EXPECT_FALSE(allows(tool, R"({"p": null})"));  // there, and not a number
}

TEST(Rules, Combine) {
  Tool any = tool_with(
      R"({ param = "p", any = [{ starts_with = "/tmp/" }, { one_of = ["/etc/hosts"] }], why = "scratch" })");
  EXPECT_TRUE(allows_text(any, "/tmp/x"));
  EXPECT_TRUE(allows_text(any, "/etc/hosts"));
  Decision decision = any.decide(json(R"({"p": "/etc/passwd"})"));
  EXPECT_EQ(decision.why, "p must (start with '/tmp/' or be '/etc/hosts'): scratch");
  EXPECT_FALSE(allows(any, "{}"));
  Tool all = tool_with(R"({ all = [{ param = "a", min = 1 }, { param = "b", max = 5 }] })");
  EXPECT_TRUE(allows(all, R"({"a": 1, "b": 5})"));
  EXPECT_EQ(all.decide(json(R"({"a": 1, "b": 6})")).why, "b must be at most 5");
  Tool none = tool_with(R"({ param = "p", not = { starts_with = "/system/" } })");
  EXPECT_TRUE(allows_text(none, "/tmp/x"));
  // Unclear is no yes.
  for (const char* path :
       {"/system/x", "//system/x", "/tmp/../system/x", "/system", "/%73ystem/x", "~/x"})
    EXPECT_FALSE(allows_text(none, path)) << path;
  EXPECT_FALSE(allows(none, "{}"));
  EXPECT_FALSE(allows(none, R"({"p": 5})"));
  // Every item, also under `not`: one that matches is enough to be refused.
  Tool list = tool_with(R"({ param = "p[]", not = { ends_with = "@evil.example" } })");
  EXPECT_TRUE(allows(list, R"({"p": ["a@x", "b@y"]})"));
  EXPECT_FALSE(allows(list, R"({"p": ["a@x", "b@evil.example"]})"));
  Tool outer = tool_with(R"({ not = { param = "p[]", ends_with = "@evil.example" } })");
  EXPECT_FALSE(allows(outer, R"({"p": ["a@x", "b@evil.example"]})"));
  EXPECT_TRUE(allows(outer, R"({"p": ["a@x"]})"));
  // Each item may take its own way through `any`.
  Tool each = tool_with(
      R"({ param = "p[]", any = [{ ends_with = "@a.example" }, { ends_with = "@b.example" }] })");
  EXPECT_TRUE(allows(each, R"({"p": ["x@a.example", "x@b.example"]})"));
  EXPECT_FALSE(allows(each, R"({"p": ["x@a.example", "x@c.example"]})"));
}

// What cannot be told whether it holds does not switch a rule off.
TEST(Rules, WhenIsSkippedOnlyIfItCertainlyFails) {
  auto guarded = [](const char* when) {
    return tool_with(cat("{ when = ", when, R"(, param = "path", path_under = "/tmp" })"));
  };
  auto applies = [&](const char* when, const char* rest) {
    return !allows(guarded(when), cat(R"({"path": "/etc/x")", rest, "}"));
  };
  const char* const tags =
      R"({ all = [{ param = "tags[]", one_of = ["a"] }, { param = "mode", one_of = ["delete"] }] })";
  EXPECT_TRUE(applies(tags, R"(, "tags": [], "mode": "delete")"));
  EXPECT_TRUE(applies(tags, R"(, "tags": [], "mode": 5)"));
  EXPECT_FALSE(applies(tags, R"(, "tags": [], "mode": "read")"));
  const char* const force =
      R"({ all = [{ param = "force", optional = true, one_of = [true] }, { param = "mode", one_of = ["delete"] }] })";
  EXPECT_TRUE(applies(force, R"(, "mode": "delete")"));
  EXPECT_FALSE(applies(force, R"(, "mode": "read")"));
  EXPECT_TRUE(applies(R"({ not = { param = "safe", optional = true, one_of = [true] } })", ""));
  EXPECT_TRUE(applies(R"({ not = { param = "safe", one_of = [true] } })", ""));
  EXPECT_FALSE(applies(R"({ not = { param = "safe", one_of = [true] } })", R"(, "safe": true)"));
  for (const char* when :
       {R"({ param = "mode", not_one_of = ["read"] })",
        R"({ param = "mode", not = { one_of = ["read"] } })",
        R"({ param = "a.mode", not_starts_with = "read" })",
        R"({ param = "mode", all = [{ not_contains = "read" }] })",
        R"({ param = "mode", any = [{ one_of = ["x"] }, { not_ends_with = "d" }] })",
        R"({ param = "mode", max = 5 })",
        R"({ param = "mode", when = { param = "path", one_of = ["y"] }, one_of = ["x"] })"})
    EXPECT_TRUE(applies(when, "")) << when;
  EXPECT_FALSE(applies(R"({ param = "mode", one_of = ["delete"] })",
                       ""));  // a parameter that is not there has none of these values
  EXPECT_FALSE(applies(R"({ param = "mode", one_of = ["delete"], not_one_of = ["read"] })", ""));
  EXPECT_FALSE(applies(R"({ param = "mode", not_one_of = ["read"] })", R"(, "mode": "read")"));
  EXPECT_TRUE(applies(R"({ param = "mode", one_of = ["delete"] })", R"(, "mode": ["delete"])"));
  EXPECT_TRUE(applies(R"({ param = "mode", one_of = ["delete"] })", R"(, "mode": null)"));
}

// A part that says nothing about these arguments is left out, and does not decide for the others.
TEST(Rules, WhatDoesNotApplyDecidesNothing) {
  Tool any = tool_with(
      R"({ any = [{ param = "a", optional = true, one_of = ["x"] }, { param = "b", one_of = ["y"] }] })");
  EXPECT_TRUE(allows(any, R"({"a": "x", "b": "z"})"));
  EXPECT_TRUE(allows(any, R"({"b": "y"})"));
  EXPECT_FALSE(allows(any, R"({"b": "z"})"));
  Tool list = tool_with(
      R"({ any = [{ param = "to[]", ends_with = "@x" }, { param = "b", one_of = ["y"] }] })");
  EXPECT_FALSE(allows(list, R"({"to": [], "b": "z"})"));
  Tool when = tool_with(
      R"({ any = [{ when = { param = "mode", one_of = ["delete"] }, param = "path", path_under = "/tmp" }, { param = "path", path_under = "/srv" }] })");
  EXPECT_FALSE(allows(when, R"({"mode": "read", "path": "/etc/x"})"));
  EXPECT_TRUE(allows(when, R"({"mode": "read", "path": "/srv/x"})"));
  Tool none = tool_with(
      R"({ not = { all = [{ param = "tags[]", one_of = ["a"] }, { param = "mode", one_of = ["delete"] }] } })");
  EXPECT_FALSE(allows(none, R"({"tags": [], "mode": "delete"})"));
  EXPECT_TRUE(allows(none, R"({"tags": [], "mode": "read"})"));
}

TEST(Rules, AListOfForbiddenValuesIsNotGotRound) {
  auto allowed = [](const char* forbidden, const char* p) {
    return allows(tool_with(cat(R"({ param = "p", not_one_of = )", forbidden, " }")),
                  cat("{\"p\": ", p, "}"));
  };
  for (auto [forbidden, p] : {std::pair(R"(["root"])", R"("root\u0000")"),
                              std::pair(R"(["root"])", R"(["root"])"),
                              std::pair(R"(["root"])", R"([["root"]])"),
                              std::pair(R"(["root"])", R"({"name": "root"})"),
                              std::pair("[22]", R"("22")"),
                              std::pair("[22]", R"([22])"),
                              std::pair("[22]", "null"),
                              std::pair(R"([22, "ssh"])", R"("22")"),
                              std::pair(R"([22, "ssh"])", R"(" 0x16 ")"),
                              std::pair(R"(["22", 5])", "22"),
                              std::pair(R"(["22", 5])", "22.0"),
                              std::pair(R"([true, "x"])", R"("TRUE")"),
                              std::pair(R"(["true", 5])", "true"),
                              std::pair(R"([true, 5])", "1"),
                              std::pair(R"([1, "x"])", "true"),
                              std::pair(R"(["a", ["root"]])", R"("root")"),
                              std::pair(R"(["a", ["x"]])", R"(["a"])"),
                              std::pair(R"([["root"]])", R"(["root\u0000"])"),
                              std::pair(R"(["/home"])", R"("/home/")"),
                              std::pair(R"(["/home/"])", R"("/home")"),
                              std::pair(R"(["/home/./x"])", R"("/home/x")"),
                              std::pair(R"([["/home"]])", R"(["/home/"])"),
                              std::pair(R"(["/home"])", R"("home")"),
                              std::pair(R"(["a/b"])", R"("./a//b")"),
                              std::pair(R"([{ u = "/home" }])", R"({"u": "/home/."})")})
    EXPECT_FALSE(allowed(forbidden, p)) << forbidden << " " << p;
  for (auto [forbidden, p] :
       {std::pair(R"(["root"])", R"("ann")"), std::pair(R"([22, "ssh"])", R"("http")"),
        std::pair(R"([22, "ssh"])", "80"), std::pair(R"(["/home"])", R"("/srv/")"),
        std::pair(R"([["a"], "b"])", R"("c")"), std::pair(R"([["a"]])", R"(["b"])"),
        std::pair("[true]", "false"), std::pair(R"(["text/html"])", R"("text/plain")"),
        std::pair(R"([{ a = 1 }])", R"({"a": 2})")})
    EXPECT_TRUE(allowed(forbidden, p)) << forbidden << " " << p;
  EXPECT_FALSE(allows(tool_with(R"({ param = "p", not = { one_of = ["root"] } })"),
                      R"({"p": "root\u0000"})"));
  EXPECT_FALSE(allows(tool_with(R"({ param = "p", one_of = ["/home"] })"), R"({"p": "/home/"})"));
  EXPECT_EQ(tool_with(R"({ param = "p", not_one_of = [22] })").decide(json(R"({"p": "22"})")).why,
            "p must not be 22");
}

TEST(Rules, TextWithASlashIsLookedForInEverySpelling) {
  auto allowed = [](const char* condition, const char* p) {
    return allows_text(tool_with(cat(R"({ param = "p", )", condition, " }")), p);
  };
  for (const char* p :
       {"/etc/passwd", "/etc/./passwd", "/etc//passwd", "/etc/x/../passwd", "/etc/%70asswd",
        "\\etc\\passwd", "/etc/passwd/", "x/../../etc/passwd", "file:///etc/./passwd"}) {
    EXPECT_FALSE(allowed(R"(not_contains = "/etc/passwd")", p)) << p;
    EXPECT_FALSE(allowed(R"(not_ends_with = "/passwd")", p)) << p;
    EXPECT_FALSE(allowed(R"(not_starts_with = "//etc/")", p)) << p;
  }
  for (const char* p : {"../x", "a/../b", "..\\x", "..%2fx", "%2e%2e/x"})
    EXPECT_FALSE(allowed(R"(not_contains = "../")", p)) << p;
  for (const char* p : {"/tmp/%2e%2e/x", "a/.."})
    EXPECT_FALSE(allowed(R"(not_contains = "..")", p)) << p;
  for (const char* p : {"src/../etc/x", "src/../../etc/x", "src\\..\\..\\etc", "/etc"})
    EXPECT_FALSE(allowed(R"(starts_with = "src/")", p)) << p;
  for (const char* p : {"./src/x", "src//x", "a/../src/x"})
    EXPECT_FALSE(allowed(R"(not_starts_with = "src/")", p)) << p;
  EXPECT_FALSE(allowed(R"(contains = "/src/")", "/src/../etc/x"));
  EXPECT_TRUE(allowed(R"(contains = "/src/")", "/work/src/x"));
  EXPECT_TRUE(allowed(R"(starts_with = "src/")", "src/a.c"));
  EXPECT_TRUE(allowed(R"(starts_with = "https://api.example/")", "https://api.example/a?b=c%20d"));
  EXPECT_TRUE(allowed(R"(ends_with = "/index.html")", "/srv/index.html"));
  EXPECT_TRUE(allowed(R"(not_contains = "/etc/passwd")", "the list of /etc/hosts, 100% of it"));
}

TEST(Tools, OnlyPlainRelativeWordsOfACommandArePaths) {
  for (const char* word : {"tools/x.py", "./x y.py", "../x", "./x", "./wörter.py",
                           "node_modules/@scope/server/index.js"})
    EXPECT_EQ(is_relative_path(word), std::string_view(word).find(' ') == std::string_view::npos)
        << word;
  for (const char* word : {"cat >/dev/null; echo x", "/x", "x", "-I/x", "~/x", "@a/b",
                           "user@host/x", "a=b/c", "http://x/", "s/a/b/;p", "$HOME/x", "a/*.py",
                           "./a;b", "./a|b", "a/b c", "import os; os.open('a/b')", "", "wörter/x"})
    EXPECT_FALSE(is_relative_path(word)) << word;
}

TEST(Rules, When) {
  Tool tool = tool_with(
      R"({ when = { param = "mode", one_of = ["delete"] }, param = "path", path_under = "/tmp", why = "deleting is for scratch" })");
  EXPECT_TRUE(allows(tool, R"({"mode": "read", "path": "/etc/x"})"));
  EXPECT_TRUE(allows(tool, R"({"mode": "read"})"));
  EXPECT_TRUE(allows(tool, R"({"mode": "delete", "path": "/tmp/x"})"));
  EXPECT_FALSE(allows(tool, R"({"mode": "delete"})"));
  EXPECT_FALSE(allows(tool, R"({"mode": "delete", "path": "/etc/x"})"));
  EXPECT_TRUE(allows(tool, R"({"path": "/etc/x"})"));  // without a mode it does not hold
  // What cannot be told applies.
  Tool path = tool_with(
      R"({ when = { param = "p", starts_with = "/system/" }, param = "force", one_of = [false] })");
  EXPECT_TRUE(allows(path, R"({"p": "/tmp/x"})"));
  EXPECT_FALSE(allows(path, R"({"p": "//system/x"})"));
  EXPECT_FALSE(allows(path, R"({"p": 5})"));
  EXPECT_TRUE(allows(path, R"({"p": "//system/x", "force": false})"));
  // About the parameter itself, item by item.
  Tool item =
      tool_with(R"({ param = "p[]", when = { starts_with = "http" }, host_in = ["example.com"] })");
  EXPECT_TRUE(allows(item, R"({"p": ["text", "https://example.com/"]})"));
  EXPECT_FALSE(allows(item, R"({"p": ["text", "https://evil.example/"]})"));
}

TEST(Tools, WithoutAWordAboutToolsThoseOfThePresetHold) {
  Result<Tools> tools = Tools::compile(Policy{});
  ASSERT_TRUE(tools) << tools.error().message;
  EXPECT_EQ(tools.value().all().size(), 11u);
  ASSERT_NE(tools.value().find("run_code"), nullptr);
  EXPECT_FALSE(tools.value().find("run_code")->agent_rates.empty());
  EXPECT_TRUE(tools_of("tools = []").all().empty());
  EXPECT_EQ(tools_of("[calls]\nat_once = 3\n").calls().at_once, 3u);
  EXPECT_EQ(tools_of("[calls]\nat_once = 3\n").all().size(), 11u);
}

TEST(Tools, TheHashChangesWithAllThatIsSaidAboutATool) {
  auto hash = [](const std::string& toml) { return tools_of(toml).hash_of("t", "s"); };
  std::string plain = hash("[[tools]]\nname = \"t\"\n");
  EXPECT_EQ(plain.size(), 64u);
  EXPECT_EQ(plain, hash("[[tools]]\nname = \"other\"\n[[tools]]\nname = \"t\"\n"));
  EXPECT_EQ(hash("[[tools]]\nname = \"t\"\nat_once = 2\nrate = \"1/day\"\n"),
            hash("[[tools]]\nrate = \"1/day\"\nname = \"t\"\nat_once = 2\n"));
  for (const char* other :
       {"[[tools]]\nname = \"t\"\nask = true\n", "[[tools]]\nname = \"t\"\n[calls]\nat_once = 5\n",
        "[[tools]]\nname = \"t\"\n[mcp.servers.s]\ncommand = [\"x\"]\n",
        "[[tools]]\nname = \"t\"\nrun = [\"x\"]\n",
        "[[tools]]\nname = \"t\"\nrun = [\"x\"]\nsandbox = { limits = { memory = \"1G\" } }\n"})
    EXPECT_NE(plain, hash(other)) << other;
}

TEST(Tools, ACommandsSandboxIsReadyToRunWith) {
  DecodeContext context;
  context.base_directory = "/work/project";
  Policy policy = decode_text(R"(
[limits]
memory = "64M"
[[tools]]
name = "weather"
run = ["python3", "tools/weather.py", "--units=a/b", "@scope/package", "https://x/y", "/abs/olute"]
sandbox = { limits = { memory = "1G" }, network = { allow = ["api.example.com"] } }
[mcp.servers.files]
command = ["node", "./server.js", "/workspace"]
tools = ["read_file"]
)",
                              "p.toml", context)
                      .value();
  Tools tools = Tools::compile(policy).value();
  const Tool& tool = *tools.find("weather");
  EXPECT_EQ(tool.run,
            (std::vector<std::string>{"python3", "/work/project/tools/weather.py", "--units=a/b",
                                      "@scope/package", "https://x/y", "/abs/olute"}));
  ASSERT_TRUE(tool.sandbox);
  // Its own word, not the preset's, and not the file's.
  EXPECT_EQ(*tool.sandbox->limits[LimitKind::memory], 1u << 30);
  EXPECT_EQ(*tool.sandbox->limits[LimitKind::wall_time], 120'000u);
  EXPECT_EQ(tool.sandbox->files.read, (std::vector<std::string>{"/work/project/tools/weather.py"}));
  EXPECT_EQ(tool.sandbox->network.allow, (std::vector<std::string>{"api.example.com"}));
  EXPECT_EQ(tool.sandbox->wall, WallKind::container);
  ASSERT_EQ(tools.servers().size(), 1u);
  const McpServer& server = tools.servers()[0];
  EXPECT_EQ(server.command[1], "/work/project/server.js");
  EXPECT_EQ(server.prefix, "files__");
  EXPECT_TRUE(server.lists("read_file"));
  EXPECT_FALSE(server.lists("Read_file"));
  EXPECT_FALSE(server.lists("*"));
  EXPECT_EQ(server.sandbox->files.read, (std::vector<std::string>{"/work/project/server.js"}));
  EXPECT_GT(*server.sandbox->limits[LimitKind::wall_time], 24u * 3600 * 1000);
  // Read back from what is shown it is the same.
  Policy again = decode_text(to_json(to_value(policy, Secrets::kept)), "again.json", {}).value();
  EXPECT_EQ(to_json(to_value(again, Secrets::kept)), to_json(to_value(policy, Secrets::kept)));
  EXPECT_EQ(canonical(*(*again.tools)[0].sandbox), canonical(*(*policy.tools)[0].sandbox));
}

// Printed, not asserted: a decision is made for every call.
TEST(Tools, DecideFast) {
  Tools tools = tools_of(kContract);
  struct {
    const char *tool, *arguments;
  } cases[] = {{"send_email", R"({"to": "ann@company.com"})"},
               {"send_email", R"({"to": "eve@evil.example"})"},
               {"delete_file", R"({"path": "/tmp/some/file"})"},
               {"delete_file", R"({"path": "/tmp/../system/x"})"}};
  for (const auto& [name, text] : cases) {
    Value arguments = json(text);
    constexpr int kRounds = 20'000;
    auto start = std::chrono::steady_clock::now();
    int allowed = 0;
    for (int i = 0; i < kRounds; ++i)
      allowed += tools.find(name)->decide(arguments).kind == Decision::Kind::allow;
    double microseconds =
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
            .count() /
        kRounds;
    std::printf("%s %s: %.2f us, %s\n", name, text, microseconds, allowed ? "allowed" : "denied");
  }
}

}  // namespace paddock::policy
