#include "base/record.h"

#include <gtest/gtest.h>

namespace paddock {
namespace {

enum class Phase : uint8_t { open, closed };
constexpr const char* kPhases[] = {"open", "closed"};
auto& names_of(Phase) { return kPhases; }

struct Thing {
  std::string name;
  uint64_t size = 0;
  bool ready = false;
  Phase phase = Phase::open;
  std::vector<std::string> notes;
  std::map<std::string, std::string> env;
  std::optional<int64_t> ended;
};
constexpr auto kThing =
    std::make_tuple(field("name", &Thing::name), field("size", &Thing::size, Presence::optional),
                    field("ready", &Thing::ready, Presence::sparse), field("phase", &Thing::phase),
                    field("notes", &Thing::notes, Presence::optional),
                    field("env", &Thing::env, Presence::optional),
                    field("ended", &Thing::ended, Presence::optional));

Value json(const char* text) { return std::move(parse_json(text, "test")).value(); }

TEST(Record, ReadsWhatItWrote) {
  Thing thing{"a", 7, true, Phase::closed, {"x", "y"}, {{"K", "v"}}, 12};
  Value value = write_record(kThing, thing);
  EXPECT_EQ(to_json(value), R"({"name":"a","size":7,"ready":true,"phase":"closed",)"
                            R"("notes":["x","y"],"env":{"K":"v"},"ended":12})");
  Thing read;
  ASSERT_TRUE(read_record(kThing, value, read, "a thing"));
  EXPECT_EQ(to_json(write_record(kThing, read)), to_json(value));
}

TEST(Record, LeavesOutWhatIsSparseOrUnset) {
  EXPECT_EQ(to_json(write_record(kThing, Thing{})),
            R"({"name":"","size":0,"phase":"open","notes":[],"env":{}})");
}

TEST(Record, NamesTheFirstFieldThatIsWrong) {
  Thing thing;
  auto message = [&](const char* text) {
    return read_record(kThing, json(text), thing, "a thing").error().message;
  };
  EXPECT_EQ(message("[]"), "read a thing: not an object but a list");
  EXPECT_EQ(message(R"({"phase":"open"})"), "read a thing: 'name' is missing or malformed");
  EXPECT_EQ(message(R"({"name":"a","phase":"ajar"})"),
            "read a thing: 'phase' is missing or malformed");
  EXPECT_EQ(message(R"({"name":"a","size":-1,"phase":"open"})"),
            "read a thing: 'size' is missing or malformed");
  EXPECT_EQ(message(R"({"name":"a","phase":"open","env":{"K":1}})"),
            "read a thing: 'env' is missing or malformed");
}

TEST(Record, NullCountsAsMissing) {
  Thing thing{.size = 3};
  ASSERT_TRUE(read_record(kThing, json(R"({"name":"a","size":null,"phase":"open"})"), thing, "it"));
  EXPECT_EQ(thing.size, 3u);
}

}  // namespace
}  // namespace paddock
