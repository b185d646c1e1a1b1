#include "cli/commands_test.h"

#include "cli/living.h"

namespace paddock::cli {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// ---- what all have in common

constexpr Verb kAll[] = {{"run", run_main, ""},
                         {"policy check", policy_main, ""},
                         {"doctor", doctor_main, ""},
                         {"verify", verify_main, ""},
                         {"diff", diff_main, ""},
                         {"apply", apply_main, ""},
                         {"image import", image_main, ""},
                         {"key create", key_main, ""},
                         {"template build", template_main, ""},
                         {"audit show", audit_main, ""},
                         {"create", create_main, ""},
                         {"ls", ls_main, ""},
                         {"exec", exec_main, ""},
                         {"cp", cp_main, ""},
                         {"logs", logs_main, ""},
                         {"pause", pause_main, ""},
                         {"resume", resume_main, ""},
                         {"snapshot", snapshot_main, ""},
                         {"fork", fork_main, ""},
                         {"kill", kill_main, ""},
                         {"top", top_main, ""},
                         {"volume create", volume_main, ""}};

TEST_F(CommandTest, EveryCommandExplainsItselfAndKnowsItsFlags) {
  for (const Verb& verb : kAll) {
    std::vector<std::string> words = split(verb.name, ' ');
    words.push_back("--help");
    Ran help = ran(verb.main, words);
    EXPECT_EQ(help.status, 0) << verb.name;
    EXPECT_TRUE(has(help.out, cat("usage: paddock ", verb.name))) << help.out;
    words.back() = "--no-such-flag";
    Ran wrong = ran(verb.main, words);
    EXPECT_EQ(wrong.status, kFailed) << verb.name;
    EXPECT_TRUE(has(wrong.err, "--no-such-flag")) << wrong.err;
    EXPECT_EQ(wrong.out, "");
  }
}

TEST_F(CommandTest, WithoutAServerTheyNameWhereItShouldBe) {
  ASSERT_EQ(::setenv("PADDOCK_SOCKET", at("nobody").c_str(), 1), 0);
  for (const Verb& verb : {Verb{"ls", ls_main, ""},
                           {"kill x", kill_main, ""},
                           {"volume ls", volume_main, ""},
                           {"template ls", template_main, ""},
                           {"snapshot x", snapshot_main, ""},
                           {"fork x", fork_main, ""}}) {
    Ran failed = ran(verb.main, split(verb.name, ' '));
    EXPECT_EQ(failed.status, kFailed) << verb.name;
    EXPECT_TRUE(has(failed.err, at("nobody"))) << failed.err;
  }
}

// ---- lists

TEST_F(CommandTest, ListsSandboxesPageAfterPage) {
  serve([](const Asked& asked) {
    if (has(asked.target, "token=more"))
      return http(200,
                  R"({"sandboxes":[{"id":"two","state":"paused","created_ms":1},)"
                  R"({"id":"three","state":"ended","ended_ms":1,"ended_because":"timeout"}]})");
    return http(200, R"({"next":"more","sandboxes":[{"id":"one","name":"mine","template":"base",)"
                     R"("state":"running","ends_ms":99999999999999,"memory_bytes":1048576,)"
                     R"("usage":{"memory":524288,"cpu_percent":12.6}}]})");
  });
  Ran listed = ran(ls_main, {"ls", "-a"});
  EXPECT_EQ(listed.status, 0) << listed.err;
  for (const char* part : {"one", "two", "three", "timeout", "running", "13%"})
    EXPECT_TRUE(has(listed.out, part)) << part << "\n" << listed.out;
  Ran json = ran(ls_main, {"ls", "--json"});
  EXPECT_EQ(parse_json(json.out, "out").value().find("sandboxes")->as_array()->size(), 3u);
}

TEST_F(CommandTest, AnEmptyListSaysHowToBegin) {
  serve(http(200, R"({"sandboxes":[],"volumes":[],"templates":[]})"));
  EXPECT_TRUE(has(ran(ls_main, {"ls"}).err, "paddock create"));
  EXPECT_TRUE(has(ran(volume_main, {"volume", "ls"}).err, "paddock volume create"));
  EXPECT_TRUE(has(ran(template_main, {"template", "ls"}).err, "no templates"));
}

TEST_F(CommandTest, AnswersThatAreNoneAreErrors) {
  serve([](const Asked& asked) {
    if (has(asked.target, "volumes")) return std::string("gibberish");
    if (has(asked.target, "templates")) return http(200, "not json");
    return http(200, "{}");
  });
  EXPECT_EQ(ran(ls_main, {"ls"}).status, kFailed);
  EXPECT_EQ(ran(volume_main, {"volume", "ls"}).status, kFailed);
  EXPECT_EQ(ran(template_main, {"template", "ls", "--json"}).status, kFailed);
}

TEST_F(CommandTest, VolumesAndTemplatesAreShownAsTables) {
  serve([](const Asked& asked) {
    if (has(asked.target, "volumes"))
      return http(200, R"({"volumes":[{"name":"data","used_bytes":1048576,"quota_bytes":2097152},)"
                       R"({"name":"free"}]})");
    return http(200, R"({"templates":[{"name":"py","tags":["a","b"],"id":"t1","kind":"built"},)"
                     R"({"id":"t2"}]})");
  });
  std::string volumes = ran(volume_main, {"volume", "ls"}).out;
  EXPECT_TRUE(has(volumes, "data") && has(volumes, "free")) << volumes;
  std::string templates = ran(template_main, {"template", "ls"}).out;
  EXPECT_TRUE(has(templates, "a,b") && has(templates, "t2")) << templates;
  EXPECT_TRUE(has(ran(template_main, {"template", "ls", "--json"}).out, "\"t1\""));
}

TEST_F(CommandTest, LogsAreReadableAndNothingInThemReachesTheTerminal) {
  std::string lines =
      "{\"time_ms\":1700000000000,\"kind\":\"exec\",\"argv\":[\"ls\"],\"user\":\"u\\u001b[31m\"}\n"
      "\nnot json\n";
  serve(http(200, lines));
  Ran logs = ran(logs_main, {"logs", "box", "-f"});
  EXPECT_EQ(logs.status, 0);
  EXPECT_TRUE(has(logs.out, "exec") && has(logs.out, "argv=[\"ls\"]") && has(logs.out, "not json"));
  EXPECT_FALSE(has(logs.out, "\x1b[31m"));
  EXPECT_TRUE(has(ran(logs_main, {"logs", "box", "--json"}).out, "\"kind\":\"exec\""));
}

// ---- changes

TEST_F(CommandTest, EachOfSeveralIsTriedAndTheFailuresAreNamed) {
  serve([](const Asked& asked) {
    if (has(asked.target, "gone")) return http_error(404, "not_found", "no such sandbox");
    return http(200, R"({"id":"here"})");
  });
  for (const Verb& verb :
       {Verb{"kill", kill_main, ""}, {"pause", pause_main, ""}, {"resume", resume_main, ""}}) {
    Ran mixed = ran(verb.main, {verb.name, "gone", "here"});
    EXPECT_EQ(mixed.status, kFailed);
    EXPECT_EQ(mixed.out, "here\n");
    EXPECT_TRUE(has(mixed.err, "gone: no such sandbox")) << mixed.err;
    Value json =
        parse_json(ran(verb.main, {verb.name, "--json", "gone", "here"}).out, "out").value();
    EXPECT_EQ(json.find("errors")->as_array()->size(), 1u);
    EXPECT_EQ(json.find("sandboxes")->as_array()->size(), 1u);
  }
  EXPECT_EQ(ran(resume_main, {"resume", "--timeout", "soon", "here"}).status, kFailed);
  EXPECT_EQ(ran(resume_main, {"resume", "--timeout", "5m", "here"}).status, 0);
  EXPECT_TRUE(has(asked().back().body, "300000"));
}

TEST_F(CommandTest, SnapshotsAndForksPrintTheirIds) {
  serve([](const Asked& asked) {
    if (has(asked.target, "snapshots")) return http(200, R"({"id":"snap"})");
    return http(200,
                R"({"sandboxes":[{"sandbox":{"id":"f1"}},{"error":{"message":"no room"}},{}]})");
  });
  EXPECT_EQ(ran(snapshot_main, {"snapshot", "box", "name:tag"}).out, "snap\n");
  Ran forked = ran(fork_main, {"fork", "-n", "3", "--timeout", "1h", "box"});
  EXPECT_EQ(forked.out, "f1\n");
  EXPECT_EQ(forked.status, kFailed);
  EXPECT_TRUE(has(forked.err, "no room")) << forked.err;
  for (const char* count : {"0", "many"})
    EXPECT_EQ(ran(fork_main, {"fork", "-n", count, "box"}).status, kFailed);
}

TEST_F(CommandTest, VolumesAreMadeAndRemoved) {
  serve(http(200, R"({"name":"data"})"));
  EXPECT_EQ(ran(volume_main, {"volume", "create", "data", "--quota", "1G"}).out, "data\n");
  EXPECT_TRUE(has(asked().back().body, "1073741824"));
  EXPECT_EQ(ran(volume_main, {"volume", "create", "data", "--quota", "much"}).status, kFailed);
  EXPECT_EQ(ran(volume_main, {"volume", "rm", "a/b"}).out, "removed a/b\n");
  EXPECT_EQ(asked().back().target, "/v1/volumes/a%2Fb");
}

TEST_F(CommandTest, TemplatesAreRemovedAsFarAsPossible) {
  serve([](const Asked& asked) {
    if (has(asked.target, "used")) return http_error(409, "conflict", "it is in use");
    return http(200, "{}");
  });
  Ran removed = ran(template_main, {"template", "rm", "used", "free"});
  EXPECT_EQ(removed.status, kFailed);
  EXPECT_TRUE(has(removed.err, "it is in use"));
  EXPECT_EQ(asked().size(), 2u);
}

TEST_F(CommandTest, TemplatesAreBuiltFromADockerfile) {
  std::string end = R"({"type":"end","template":{"name":"mine","id":"t1"}})";
  serve([&](const Asked& asked) {
    if (has(asked.target, "/files/") && asked.method == "GET")
      return http(200, R"({"present":false})");
    if (has(asked.target, "/build"))
      return http(200,
                  cat(R"({"type":"log","message":"[1/2] RUN true"})", "\n",
                      R"({"type":"log","level":"error","message":"a warning"})", "\n", end, "\n"));
    return http(200, "{}");
  });
  ASSERT_TRUE(std::filesystem::create_directory(at("context")));
  write("context/Dockerfile", "FROM base\nCOPY file /there\nRUN true\nCMD serve\n");
  write("context/file", "content");
  write("context/.dockerignore", "*.log\n!keep.log\n");
  Ran built = ran(template_main, {"template", "build", "-t", "mine", "--ready", "true",
                                  "--no-cache", "--allow-net", "*", at("context")});
  EXPECT_EQ(built.status, 0) << built.err;
  EXPECT_TRUE(has(built.out, "[1/2] RUN true") && has(built.out, "built mine (t1)")) << built.out;
  write("context/Dockerfile", "FROM base\nCOPY missing /there\n");
  EXPECT_TRUE(has(ran(template_main, {"template", "build", "-t", "mine", at("context")}).err,
                  "COPY missing: there is no such file"));
  EXPECT_EQ(ran(template_main, {"template", "build", at("context")}).status, kFailed);
  EXPECT_EQ(ran(template_main, {"template", "build", "-t", "x", at("nowhere")}).status, kFailed);
}

TEST_F(CommandTest, ABuildThatFailsSaysWhatToTry) {
  bool fails = true;
  serve([&](const Asked&) {
    return http(200, fails ? R"({"type":"error","error":{"message":"RUN false: exit status 1"}})"
                             "\n"
                           : "\n");
  });
  ASSERT_TRUE(std::filesystem::create_directory(at("context")));
  write("context/Dockerfile", "FROM base\nRUN false\n");
  Ran failed = ran(template_main, {"template", "build", "-t", "x", at("context")});
  EXPECT_TRUE(has(failed.err, "RUN false") && has(failed.err, "--allow-net")) << failed.err;
  fails = false;
  EXPECT_TRUE(has(ran(template_main, {"template", "build", "-t", "x", at("context")}).err,
                  "the server went away"));
}

// ---- create and exec

TEST_F(CommandTest, ASandboxIsMadeAsTheFlagsSay) {
  serve(http(201, R"({"id":"new","timeout_ms":60000,"idle_timeout_ms":5000,"notes":["a note"]})"));
  Ran made =
      ran(create_main,
          {"create",   "--name",         "mine",       "--template",   "py",    "--timeout",
           "1m",       "--idle-timeout", "5s",         "--on-timeout", "pause", "--auto-resume",
           "--volume", "data:/data:ro",  "--metadata", "a=b",          "--env", "X=y",
           "--secret", "TOKEN=value",    "--memory",   "512M"});
  EXPECT_EQ(made.status, 0) << made.err;
  EXPECT_EQ(made.out, "new\n");
  EXPECT_TRUE(has(made.err, "a note") && has(made.err, "after being idle for")) << made.err;
  Value body = parse_json(asked().at(0).body, "body").value();
  EXPECT_EQ(number_in(body, "timeout_ms"), 60'000);
  EXPECT_EQ(to_json(*body.find("volumes")), R"([{"name":"data","path":"/data","read_only":true}])");
  EXPECT_EQ(to_json(*body.find("metadata")), R"({"a":"b"})");
}

TEST_F(CommandTest, WrongFlagsAreRefusedBeforeTheServerIsAsked) {
  serve(http(201, "{}"));
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"create", "--volume", "data"},
                                             {"create", "--volume", "data:relative"},
                                             {"create", "--volume", "data:/x:rx"},
                                             {"create", "--metadata", "novalue"},
                                             {"create", "--on-timeout", "explode"},
                                             {"create", "--timeout", "soon"},
                                             {"create", "--idle-timeout", "soon"},
                                             {"create", "--env", "novalue"},
                                             {"create", "--secret", "A=1", "--secret", "A=2"},
                                             {"create", "--memory", "much"},
                                             {"create", "--policy", "/no/such/policy.toml"}})
    EXPECT_EQ(ran(create_main, words).status, kFailed) << words.back();
  EXPECT_TRUE(asked().empty());
}

TEST_F(CommandTest, ATenantsShorterTimeIsTakenInstead) {
  serve([](const Asked& asked) {
    if (has(asked.body, "3600000")) return http_error(400, "invalid", "timeout: at most 5m");
    return http(201, R"({"id":"new","on_timeout":"pause","timeout_ms":300000})");
  });
  Ran made = ran(create_main, {"create"});
  EXPECT_EQ(made.out, "new\n") << made.err;
  EXPECT_TRUE(has(made.err, "it pauses in 5m")) << made.err;
}

TEST_F(CommandTest, ExecEndsLikeItsCommand) {
  struct {
    const char* outcome;
    int status;
  } cases[] = {{R"({"outcome":{"kind":"exited","code":3}})", 3},
               {R"({"outcome":{"kind":"no such kind"}})", kFailed},
               {R"({})", kFailed}};
  std::string answer;
  serve([&](const Asked&) { return http(200, answer); });
  for (const auto& each : cases) {
    answer = each.outcome;
    EXPECT_EQ(ran(exec_main, {"exec", "--json", "box", "--", "true"}).status, each.status)
        << each.outcome;
  }
  EXPECT_EQ(ran(exec_main, {"exec", "box"}).status, kFailed);
  EXPECT_EQ(ran(exec_main, {"exec", "--json", "-i", "box", "cat"}).status, kFailed);
  EXPECT_EQ(ran(exec_main, {"exec", "-e", "novalue", "box", "cat"}).status, kFailed);
  EXPECT_EQ(ran(exec_main, {"exec", "--timeout", "soon", "box", "cat"}).status, kFailed);
}

TEST_F(CommandTest, ExecTellsWhatCouldNotBeStarted) {
  std::string code = "not_found";
  serve([&](const Asked&) { return http_error(404, code, "fork/exec nothing: no such file"); });
  EXPECT_EQ(ran(exec_main, {"exec", "--json", "box", "nothing"}).status, 127);
  code = "invalid";
  EXPECT_EQ(ran(exec_main, {"exec", "--json", "box", "nothing"}).status, 126);
}

// ---- cp

TEST_F(CommandTest, FilesGoInAndComeOut) {
  serve([](const Asked& asked) {
    if (has(asked.target, "/files/stat") && has(asked.target, "new"))
      return http_error(404, "not_found", "no such file");
    if (has(asked.target, "/files/stat") && has(asked.target, "dir"))
      return http(200, R"({"entry":{"type":"directory"}})");
    if (has(asked.target, "/files/stat"))
      return http(200, R"({"entry":{"type":"file","mode":493}})");
    return http(200, asked.method == "GET" && has(asked.target, "/files?") ? "content" : "{}");
  });
  write("here.txt", "some text");
  EXPECT_EQ(ran(cp_main, {"cp", "-q", at("here.txt"), "box:/new"}).status, 0);
  EXPECT_EQ(asked().back().body, "some text");
  EXPECT_EQ(ran(cp_main, {"cp", "--user", "u", at("here.txt"), "box:/dir"}).status, 0);
  EXPECT_TRUE(has(asked().back().target, "here.txt") && has(asked().back().target, "user=u"));
  Ran out = ran(cp_main, {"cp", "--json", "box:/file", at("there.txt")});
  EXPECT_EQ(out.out, "{\"bytes\":7}\n") << out.err;
  EXPECT_EQ(read("there.txt"), "content");
  EXPECT_EQ(ran(cp_main, {"cp", "-q", "box:/file", "-"}).out, "content");
}

TEST_F(CommandTest, DirectoriesGoInAsAnArchive) {
  serve([](const Asked& asked) {
    if (has(asked.target, "/files/stat") && has(asked.target, "plain"))
      return http(200, R"({"entry":{"type":"file"}})");
    if (has(asked.target, "/files/stat")) return http(200, R"({"entry":{"type":"directory"}})");
    return http(200, "{}");
  });
  ASSERT_TRUE(std::filesystem::create_directory(at("tree")));
  write("tree/inner.txt", "inner text");
  EXPECT_EQ(ran(cp_main, {"cp", "-q", at("tree"), "box:/dir/"}).status, 0);
  EXPECT_TRUE(has(asked().back().target, "/tar?") && has(asked().back().body, "inner text"));
  EXPECT_TRUE(has(ran(cp_main, {"cp", at("tree"), "box:/plain"}).err, "not a directory"));
  EXPECT_TRUE(has(ran(cp_main, {"cp", "box:/dir", "-"}).err, "is a directory"));
}

TEST_F(CommandTest, CopiesThatCannotBeSayWhy) {
  serve([](const Asked& asked) {
    if (has(asked.target, "nobox")) return http_error(404, "not_found", "no such sandbox");
    if (has(asked.target, "/files/stat")) return http_error(404, "not_found", "no such file");
    return http(200, "{}");
  });
  EXPECT_TRUE(has(ran(cp_main, {"cp", at("missing"), "box:/x"}).err, "missing"));
  EXPECT_TRUE(has(ran(cp_main, {"cp", "box:/x", at("out")}).err, "is not there inside"));
  EXPECT_TRUE(has(ran(cp_main, {"cp", "nobox:/x", at("out")}).err, "no such sandbox"));
  EXPECT_TRUE(has(ran(cp_main, {"cp", "a", "b"}).err, "neither side is in a sandbox"));
}

TEST_F(CommandTest, ADownloadThatIsCutLeavesNothing) {
  serve([](const Asked& asked) {
    if (has(asked.target, "/files/stat")) return http(200, R"({"entry":{"type":"file"}})");
    return std::string("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npart");
  });
  EXPECT_EQ(ran(cp_main, {"cp", "-q", "box:/file", at("out")}).status, kFailed);
  EXPECT_FALSE(std::filesystem::exists(at("out")));
  size_t left = 0;
  for (const auto& entry : std::filesystem::directory_iterator(at(".")))
    left += has(entry.path(), ".part");
  EXPECT_EQ(left, 0u);
}

// ---- without a server

TEST_F(CommandTest, KeysAreMadeListedAndRevoked) {
  EXPECT_TRUE(has(ran(key_main, {"key", "ls"}).err, "paddock key create"));
  Ran made = ran(key_main, {"key", "create", "--json", "--name", "ci", "--expires", "30d",
                            "--scope", "read,admin", "--tenant", "t"});
  ASSERT_EQ(made.status, 0) << made.err;
  std::string id = text_in(parse_json(made.out, "out").value(), "id");
  std::string listed = ran(key_main, {"key", "ls"}).out;
  EXPECT_TRUE(has(listed, id) && has(listed, "admin,read")) << listed;
  EXPECT_EQ(ran(key_main, {"key", "revoke", id}).status, 0);
  EXPECT_EQ(ran(key_main, {"key", "revoke", "nobody"}).status, kFailed);
  for (const char* ends : {"soon", "99999999d", "d"})
    EXPECT_EQ(ran(key_main, {"key", "create", "--expires", ends}).status, kFailed) << ends;
  EXPECT_EQ(ran(key_main, {"key", "create", "--scope", "everything"}).status, kFailed);
}

TEST_F(CommandTest, PoliciesAreCheckedShownAndExplained) {
  write("good.toml", "[limits]\nmemory = \"64M\"\n");
  write("bad.toml", "[limits]\nmemory = \"much\"\nno_such_key = 1\n");
  Ran bad = ran(policy_main, {"policy", "check", at("good.toml"), at("bad.toml")});
  EXPECT_EQ(bad.status, 1);
  EXPECT_TRUE(has(bad.out, "bad.toml:2") && has(bad.out, "no_such_key")) << bad.out;
  Value json =
      parse_json(ran(policy_main, {"policy", "check", "--json", at("bad.toml")}).out, "out")
          .value();
  EXPECT_FALSE(flag_in(json, "ok", true));
  for (const char* verb : {"show", "explain"}) {
    EXPECT_TRUE(has(ran(policy_main, {"policy", verb, at("good.toml")}).out, "64")) << verb;
    EXPECT_EQ(ran(policy_main, {"policy", verb, "--json", at("good.toml")}).status, 0) << verb;
    EXPECT_EQ(ran(policy_main, {"policy", verb, at("missing.toml")}).status, kFailed) << verb;
  }
  EXPECT_TRUE(has(ran(policy_main, {"policy", "schema"}).out, "$schema"));
}

TEST_F(CommandTest, ImagesThatAreNotThereAreNamed) {
  EXPECT_TRUE(has(ran(image_main, {"image", "ls"}).err, "paddock image import"));
  EXPECT_EQ(ran(image_main, {"image", "rm", "nobody"}).status, kFailed);
  EXPECT_EQ(ran(image_main, {"image", "import", "x", at("missing.tar")}).status, kFailed);
  EXPECT_EQ(ran(image_main, {"image", "import", "--max-size", "much", "x", "y"}).status, kFailed);
  EXPECT_EQ(ran(image_main, {"image", "ls", "--json"}).out, "{\"images\":[]}\n");
}

TEST_F(CommandTest, DiffAndApplyNeedChanges) {
  for (auto* main : {diff_main, apply_main})
    EXPECT_EQ(ran(main, {"x", "no-such-change-set"}).status, kFailed);
  EXPECT_TRUE(has(ran(version_main, {"version"}).out, PADDOCK_VERSION));
}

}  // namespace
}  // namespace paddock::cli
