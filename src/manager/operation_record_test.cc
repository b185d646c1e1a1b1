// What is recorded of commands, cells and files: never a secret, and never more than fits.
#include "manager/operation_record.h"

#include "guest/frame.h"
#include "manager/manager_test.h"

namespace paddock::manager {

namespace {

class OperationRecords : public ManagerTest {
 public:
  void listen() {
    listening_ =
        manager_->events().subscribe("", [this](const Event& event) { seen_.push_back(event); });
  }
  // The last event of this kind.
  Event last(const std::string& kind) const {
    for (size_t i = seen_.size(); i > 0; --i)
      if (seen_[i - 1].kind == kind) return seen_[i - 1];
    ADD_FAILURE() << "no event " << kind;
    return {};
  }
  static Value json(const std::string& text) { return parse_json(text, "test").value(); }

  std::shared_ptr<void> listening_;
  std::vector<Event> seen_;
};

}  // namespace

TEST_F(OperationRecords, ACommandIsRecordedFromItsStartToItsEnd) {
  auto story = [](OperationRecords* self) -> io::Task<void> {
    co_await self->begin();
    CreateOptions options;
    options.secrets["TOKEN"] = "s3cr3t-token-value";
    std::shared_ptr<Sandbox> sandbox = co_await self->make(options);
    self->listen();
    Recorded command(*self->manager_, self->caller_, sandbox);
    Value request =
        json(R"({"argv":["curl","-H","s3cr3t-token-value"],"cwd":"/x","user":"u","tag":"t",)"
             R"("timeout_ms":5,"env":{"A":"not shown"},"terminal":{}})");
    Result<void> started = co_await command.start_command(request, "test");
    EXPECT_TRUE(started && command.is_open());
    std::string start = to_json(self->last("command.start").data);
    EXPECT_EQ(start.find("s3cr3t-token-value"), std::string::npos) << start;
    EXPECT_EQ(start.find("not shown"), std::string::npos) << start;
    EXPECT_NE(start.find("\"via\":\"test\""), std::string::npos) << start;
    command.count(guest::kErrors, 3);
    command.count(guest::kOutput, 5);
    redact::Counts counts;
    counts["secret"] = 2;
    command.end(json(R"({"kind":"exited","code":0})"), counts);
    EXPECT_FALSE(command.is_open());
    Event end = self->last("command.end");
    EXPECT_EQ(number_in(end.data, "stderr_bytes"), 3);
    EXPECT_EQ(number_in(end.data, "stdout_bytes"), 5);
    EXPECT_EQ(text_in(self->last("redaction").data, "of"), "command");
    size_t before = self->seen_.size();
    command.end(Value(), {});  // once is enough
    EXPECT_EQ(self->seen_.size(), before);
    self->listening_.reset();
    co_await self->end();
  };
  tell(story(this));
}

TEST_F(OperationRecords, LongCommandsAreCutAndHashed) {
  auto story = [](OperationRecords* self) -> io::Task<void> {
    co_await self->begin();
    CreateOptions options;
    std::shared_ptr<Sandbox> sandbox = co_await self->make(options);
    self->listen();
    Value::Array argv{"program", std::string(20 << 10, 'a'), std::string(20 << 10, 'b'), 7};
    Recorded command(*self->manager_, self->caller_, sandbox);
    Value request = Value::Object{{"argv", Value(std::move(argv))}};
    Result<void> started = co_await command.start_command(request, "test");
    EXPECT_TRUE(started);
    Event start = self->last("command.start");
    EXPECT_LT(to_json(start.data).size(), 40u << 10);
    EXPECT_GT(number_in(start.data, "argv_bytes"), 40 << 10);
    EXPECT_EQ(text_in(start.data, "argv_sha256").size(), 64u);
    command.not_started({Code::not_found, "no such program", ""});
    const Event end = self->last("command.end");
    EXPECT_EQ(text_in(*end.data.find("outcome"), "kind"), "not_started");
    self->listening_.reset();
    co_await self->end();
  };
  tell(story(this));
}

TEST_F(OperationRecords, WhoGoesAwayLeavesAnEndThatNobodyKnows) {
  auto story = [](OperationRecords* self) -> io::Task<void> {
    co_await self->begin();
    CreateOptions options;
    std::shared_ptr<Sandbox> sandbox = co_await self->make(options);
    self->listen();
    {
      Recorded cell(*self->manager_, self->caller_, sandbox);
      std::string code = std::string(100 << 10, 'x'), language, context;
      Result<void> started = co_await cell.start_code(code, language, context);
      EXPECT_TRUE(started);
    }
    Event start = self->last("code.start"), end = self->last("code.end");
    EXPECT_EQ(text_in(start.data, "language"), "python");
    EXPECT_LT(text_in(start.data, "code").size(), 3u << 10);
    EXPECT_EQ(text_in(*end.data.find("outcome"), "kind"), "unknown");
    self->listening_.reset();
    co_await self->end();
  };
  tell(story(this));
}

TEST_F(OperationRecords, NothingStartsInASandboxThatIsGone) {
  auto story = [](OperationRecords* self) -> io::Task<void> {
    co_await self->begin();
    CreateOptions options;
    std::shared_ptr<Sandbox> sandbox = co_await self->make(options);
    std::string id = sandbox->info().id;
    Result<void> killed = co_await self->manager_->kill(self->caller_, id);
    EXPECT_TRUE(killed);
    self->listen();
    Recorded command(*self->manager_, self->caller_, sandbox);
    Value request = json(R"({"argv":["true"]})");
    Result<void> started = co_await command.start_command(request, "test");
    EXPECT_FALSE(started || command.is_open());
    std::string act = "upload";
    Value data = json(R"({"path":"/x"})");
    Result<Event> written =
        co_await record_write(*self->manager_, self->caller_, sandbox, act, data);
    EXPECT_FALSE(written);
    self->listening_.reset();
    co_await self->end();
  };
  tell(story(this));
}

TEST_F(OperationRecords, FilesAreRecordedByTheirPathsAlone) {
  auto story = [](OperationRecords* self) -> io::Task<void> {
    co_await self->begin();
    CreateOptions options;
    std::shared_ptr<Sandbox> sandbox = co_await self->make(options);
    self->listen();
    Value::Array sources;
    for (int i = 0; i < 40; ++i) sources.push_back(cat("/part", i));
    Value request = Value::Object{{"path", std::string(10 << 10, 'p')},
                                  {"sources", Value(std::move(sources))},
                                  {"content", "not shown"}};
    std::string act = "compose";
    Value fields = file_fields(request);
    Result<Event> written =
        co_await record_write(*self->manager_, self->caller_, sandbox, act, fields);
    EXPECT_TRUE(written);
    Event event = self->last("file.write");
    EXPECT_EQ(text_in(event.data, "act"), "compose");
    EXPECT_LT(text_in(event.data, "path").size(), 5u << 10);
    EXPECT_EQ(number_in(event.data, "sources_count"), 40);
    EXPECT_EQ(event.data.find("sources")->as_array()->size(), 16u);
    EXPECT_FALSE(event.data.find("content"));
    redact::Counts counts;
    counts["email"] = 1;
    Value read = json(R"({"path":"/y"})");
    note_read(*self->manager_, self->caller_, *sandbox, read, counts);
    EXPECT_EQ(text_in(self->last("file.read").data, "path"), "/y");
    EXPECT_EQ(text_in(self->last("redaction").data, "of"), "file");
    EXPECT_FALSE(redacts_files(*sandbox));
    Value signal = signal_fields(json(R"({"pid":7,"signal":"SIGTERM","other":1})"));
    EXPECT_EQ(to_json(signal), R"({"pid":7,"signal":"SIGTERM"})");
    Value process = json(R"({"pid":7})");
    note_input(*self->manager_, self->caller_, *sandbox,
               {.process = process, .bytes = 12, .closed = true});
    self->listening_.reset();
    co_await self->end();
  };
  tell(story(this));
}

}  // namespace paddock::manager
