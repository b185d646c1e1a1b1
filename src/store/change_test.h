// A workspace "ws" and a change set whose upper directory the test writes as a hostile program
// would.
#pragma once

#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include "store/apply.h"
#include "store/change_set.h"
#include "store/diff.h"
#include "store/store_test.h"

namespace paddock::store {

class ChangeTest : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    make("ws");
  }
  // After the workspace is as the run finds it.
  void start(std::vector<std::string> deny = {}) {
    Result<ChangeSet> set = create_change_set({.workspace = at("ws"), .deny = std::move(deny)});
    ASSERT_TRUE(set) << set.error().message;
    set_ = std::move(set).value();
    up_ = "state/changes/" + set_.id + "/layers/upper/";
  }
  void whiteout(const std::string& path) {
    ASSERT_EQ(::mknod(at(up_ + path).c_str(), S_IFCHR, makedev(0, 0)), 0);
  }
  void mark(const std::string& path, const std::string& name, const std::string& value) {
    ASSERT_EQ(::setxattr(at(up_ + path).c_str(), name.c_str(), value.data(), value.size(), 0), 0)
        << name;
  }

  // "added dir/file" and so on; a conflict is marked by "!", a flag by "*".
  std::vector<std::string> seen() {
    Result<std::vector<Change>> changes = diff(set_);
    if (!changes) return {changes.error().message};
    std::vector<std::string> lines;
    for (const Change& change : changes.value())
      lines.push_back(cat(to_string(change.kind), " ", change.path,
                          change.conflict.empty() ? "" : "!", change.flags.empty() ? "" : "*"));
    return lines;
  }
  Change change_at(const std::string& path) {
    Result<std::vector<Change>> changes = diff(set_);
    if (changes)
      for (const Change& change : changes.value())
        if (change.path == path) return change;
    ADD_FAILURE() << "no change at " << path;
    return {};
  }
  // "applied path" and so on.
  std::vector<std::string> take(const std::vector<std::string>& paths = {},
                                ApplyOptions options = {}) {
    Result<ApplyReport> report = apply(set_, paths, options);
    if (!report) return {report.error().message};
    everything_ = report.value().everything;
    std::vector<std::string> lines;
    for (const ApplyItem& item : report.value().items)
      lines.push_back(cat(to_string(item.applied), " ", item.change.path));
    return lines;
  }

  using Lines = std::vector<std::string>;
  ChangeSet set_;
  std::string up_;
  bool everything_ = false;
};

}  // namespace paddock::store
