// What the tests of this layer share: a log that vanishes with the test, and ways to look at it and
// to harm it.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "audit/disk.h"
#include "audit/log.h"
#include "audit/log_directory.h"
#include "audit/record.h"
#include "audit/seal.h"
#include "audit/verify.h"
#include "base/fd.h"
#include "base/text.h"

namespace paddock::audit {

inline Event test_event(const std::string& kind, uint64_t number) {
  Event event;
  event.kind = kind;
  event.trace = "0af7651916cd43dd8448eb211c80319c";
  event.sandbox = cat("box-", number % 7);
  event.time_us = 1'794'812'400'000'000 + static_cast<int64_t>(number) * 1000;
  event.data.set("number", number);
  event.data.set("argv", text_list({"python3", "-c", "print('hello')"}));
  return event;
}

// The same disk, after the machine was started anew.
class LaterBoot : public Disk {
 public:
  std::string boot_id() override { return "later"; }
};

class AuditTest : public testing::Test {
 protected:
  void SetUp() override {
    base_ = parent() + "/paddock_audit_test.XXXXXX";
    ASSERT_NE(::mkdtemp(base_.data()), nullptr);
    directory_ = base_ + "/audit";
  }
  void TearDown() override { std::filesystem::remove_all(base_); }

  virtual std::string parent() const { return "/tmp"; }

  LogOptions options() const { return {.directory = directory_, .disk = machine_}; }
  Log open_log() { return must(Log::open(options())); }
  template <class T>
  static T must(Result<T> result) {
    if (!result) {
      ADD_FAILURE() << result.error().message;
      std::abort();
    }
    return std::move(result).value();
  }
  static void must(Result<void> result) { ASSERT_TRUE(result) << result.error().message; }

  // `count` records, in appends of up to `batch`.
  void fill(Log& log, uint64_t count, uint64_t batch = 1) {
    for (uint64_t i = 0; i < count; i += batch) {
      std::vector<Event> events;
      for (uint64_t k = i; k < std::min(count, i + batch); ++k)
        events.push_back(test_event("command.start", k));
      must(log.append(events, Sync::none));
    }
  }

  std::string at(const std::string& name) const { return directory_ + "/" + name; }
  std::string read(const std::string& name) const { return must(read_file(at(name), 1 << 30)); }
  void write(const std::string& name, std::string_view content) {
    Fd file = must(open_file(at(name), O_WRONLY | O_CREAT | O_TRUNC, 0600));
    must(write_all(file.get(), content));
  }
  std::vector<std::string> lines(const std::string& name) const {
    std::vector<std::string> lines = split(read(name), '\n');
    lines.pop_back();
    return lines;
  }
  void write_lines(const std::string& name, const std::vector<std::string>& lines) {
    write(name, join(lines, "\n") + "\n");
  }
  bool exists(const std::string& name) const { return ::access(at(name).c_str(), F_OK) == 0; }

  Verified check(const std::string& key = "", const std::string& expect = "") {
    return must(
        verify({.directory = directory_, .public_key = key, .expect = expect, .disk = machine_}));
  }
  // "edited 17", or "" when it is whole
  std::string damage() {
    Verified verified = check();
    return verified.damage ? cat(verified.damage->what, " ", verified.damage->seq) : "";
  }

  std::string base_, directory_;
  Disk* machine_ = nullptr;
};

}  // namespace paddock::audit
