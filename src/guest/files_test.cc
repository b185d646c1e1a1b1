// Files, driven through the protocol.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/stat.h>

#include <fstream>

#include "guest/guest_test.h"

namespace paddock::guest {

namespace {

class FilesTest : public GuestTest {
 protected:
  static std::string content(const std::string& path) {
    Result<std::string> bytes = read_file(path, 64 << 20);
    return bytes ? bytes.value() : "(missing)";
  }
  void make(const std::string& name, const std::string& bytes) const {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    std::ofstream(path(name)) << bytes;
  }
  // {"op":op,"path":…,"user":"root", more}
  Heard on(const std::string& op, const std::string& name, const std::string& more = "",
           std::string input = "") {
    return ask(cat(R"({"op":")", op, R"(","path":")", path(name), R"(","user":"root")", more, "}"),
               std::move(input));
  }
  static std::string text(const Value& entry, std::string_view key) {
    const Value* found = entry.find(key);
    return found && found->as_string() ? *found->as_string() : "";
  }
  static Value entry(const Heard& heard) {
    const Value* found = heard.result.find("entry");
    return found ? *found : Value();
  }
};

TEST_F(FilesTest, WritesAndReadsLargeFiles) {
  std::string bytes;
  for (int i = 0; bytes.size() < 3'000'000; ++i) bytes += cat(i, " ");
  Heard wrote = on("write", "deep/er/file", R"(,"mode":416)", bytes);
  EXPECT_FALSE(wrote.failed) << wrote.error.message;
  EXPECT_EQ(text(entry(wrote), "permissions"), "-rw-r-----");
  EXPECT_TRUE(content(path("deep/er/file")) == bytes);
  Heard read = on("read", "deep/er/file");
  ASSERT_EQ(read.messages.size(), 1u);
  EXPECT_EQ(*read.messages[0].find("entry")->find("size")->as_int(),
            static_cast<int64_t>(bytes.size()));
  EXPECT_TRUE(read.output == bytes);
  read = on("read", "deep/er/file", R"(,"offset":2,"length":5)");
  EXPECT_EQ(read.output, bytes.substr(2, 5));
}

TEST_F(FilesTest, WriteTruncatesInPlaceAndReplacesMetadata) {
  make("f", "a long old content");
  struct stat before, after;
  ASSERT_EQ(::stat(path("f").c_str(), &before), 0);
  Heard wrote = on("write", "f", R"(,"metadata":{"a":"1","b":"2"})", "new");
  if (wrote.failed && wrote.error.message.find("not supported") != std::string::npos)
    GTEST_SKIP() << "no extended attributes in /tmp";
  ASSERT_EQ(::stat(path("f").c_str(), &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino);
  EXPECT_EQ(content(path("f")), "new");
  Heard seen = on("stat", "f");
  EXPECT_EQ(to_json(*entry(seen).find("metadata")), R"({"a":"1","b":"2"})");
  (void)on("write", "f", R"(,"metadata":{"c":"3"})", "x");
  seen = on("stat", "f");
  EXPECT_EQ(to_json(*entry(seen).find("metadata")), R"({"c":"3"})");
  (void)on("write", "f", "", "x");
  seen = on("stat", "f");
  EXPECT_FALSE(entry(seen).find("metadata"));
  EXPECT_EQ(on("write", "f", R"(,"metadata":{"k":"a\nb"})", "x").code(), "invalid_argument");
}

TEST_F(FilesTest, RefusesWhatIsNoFile) {
  EXPECT_EQ(on("read", "none").code(), "not_found");
  EXPECT_EQ(on("read", "none").error.message, cat("path '", path("none"), "' does not exist"));
  EXPECT_EQ(on("read", "").code(), "invalid_argument");
  EXPECT_EQ(on("write", "").code(), "invalid_argument");
  EXPECT_EQ(on("write", "").error.message, cat("path is a directory: ", folder_));
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(on("read", "pipe").code(), "invalid_argument");
  EXPECT_EQ(on("write", "pipe", "", "x").code(), "invalid_argument");
  EXPECT_EQ(ask(R"({"op":"stat","path":"~other/x","user":"root"})").code(), "invalid_argument");
  EXPECT_EQ(ask(R"({"op":"stat","path":"a\u0000b","user":"root"})").code(), "invalid_argument");
  EXPECT_EQ(ask(R"({"op":"nonsense"})").code(), "unimplemented");
}

TEST_F(FilesTest, DirectoriesAreMadeMovedAndRemoved) {
  EXPECT_FALSE(on("make_directory", "a/b").failed);
  EXPECT_EQ(on("make_directory", "a/b").code(), "already_exists");
  make("file", "x");
  EXPECT_EQ(on("make_directory", "file").code(), "invalid_argument");
  EXPECT_EQ(on("make_directory", "file/below").code(), "invalid_argument");
  Heard moved = ask(cat(R"({"op":"move","user":"root","source":")", path("file"),
                        R"(","destination":")", path("new/place"), R"("})"));
  EXPECT_EQ(text(entry(moved), "path"), path("new/place"));
  EXPECT_EQ(content(path("new/place")), "x");
  moved = ask(cat(R"({"op":"move","user":"root","source":")", path("file"), R"(","destination":")",
                  path("x"), R"("})"));
  EXPECT_EQ(moved.code(), "not_found");
  make("a/b/c/d", "deep");
  EXPECT_FALSE(on("remove", "a").failed);
  EXPECT_FALSE(std::filesystem::exists(path("a")));
  EXPECT_FALSE(on("remove", "a").failed);
}

TEST_F(FilesTest, MovesAcrossFileSystems) {
  std::string other = "/dev/shm/paddock-guest-test";
  std::filesystem::remove_all(other);
  struct stat here, there;
  if (::stat("/dev/shm", &there) != 0 || ::stat("/tmp", &here) != 0 || here.st_dev == there.st_dev)
    GTEST_SKIP() << "one file system";
  make("tree/sub/file", "content");
  std::filesystem::create_symlink("file", path("tree/sub/link"));
  Heard moved = ask(cat(R"({"op":"move","user":"root","source":")", path("tree"),
                        R"(","destination":")", other, R"("})"));
  EXPECT_FALSE(moved.failed) << moved.error.message;
  EXPECT_EQ(content(other + "/sub/link"), "content");
  EXPECT_FALSE(std::filesystem::exists(path("tree")));
  std::filesystem::remove_all(other);
}

TEST_F(FilesTest, ListsInOrderToTheDepth) {
  make("list/b/inner/x", "");
  make("list/a", "1");
  make("list/c", "");
  std::filesystem::create_symlink("a", path("list/link"));
  auto names = [&](const std::string& more) {
    Heard heard = on("list", "list", more);
    std::vector<std::string> names;
    for (const Value& message : heard.messages)
      for (const Value& entry : *message.find("entries")->as_array())
        names.push_back(text(entry, "path").substr(path("list/").size()));
    return join(names, " ");
  };
  EXPECT_EQ(names(""), "a b c link");
  EXPECT_EQ(names(R"(,"depth":0)"), "a b c link");
  EXPECT_EQ(names(R"(,"depth":2)"), "a b b/inner c link");
  EXPECT_EQ(names(R"(,"depth":9)"), "a b b/inner b/inner/x c link");
  EXPECT_EQ(on("list", "none").code(), "not_found");
  EXPECT_EQ(on("list", "list/a").code(), "invalid_argument");
  Heard seen = on("stat", "list/link");
  EXPECT_EQ(text(entry(seen), "type"), "symlink");
  EXPECT_EQ(text(entry(seen), "target_type"), "file");
  EXPECT_EQ(text(entry(seen), "target"), path("list/a"));
  EXPECT_EQ(text(entry(seen), "permissions"), "lrwxrwxrwx");
}

TEST_F(FilesTest, ListsManyEntries) {
  std::filesystem::create_directory(path("many"));
  for (int i = 0; i < 3000; ++i) std::ofstream(path(cat("many/", i)));
  Heard heard = on("list", "many");
  size_t count = 0;
  for (const Value& message : heard.messages) count += message.find("entries")->as_array()->size();
  EXPECT_EQ(count, 3000u);
}

TEST_F(FilesTest, ComposesAndRemovesTheSources) {
  make("one", "1");
  make("two", "2");
  Heard heard =
      on("compose", "whole", cat(R"(,"sources":[")", path("one"), R"(",")", path("two"), R"("])"));
  EXPECT_FALSE(heard.failed) << heard.error.message;
  EXPECT_EQ(content(path("whole")), "12");
  EXPECT_FALSE(std::filesystem::exists(path("one")));
}

TEST_F(FilesTest, ComposesNothingOntoASourceByAnotherName) {
  make("one", "1");
  std::filesystem::create_symlink(path("one"), path("link"));
  Heard heard = on("compose", "link", cat(R"(,"sources":[")", path("one"), R"("])"));
  EXPECT_EQ(heard.code(), "invalid_argument");
  EXPECT_EQ(content(path("one")), "1");
}

TEST_F(FilesTest, PacksAndUnpacks) {
  make("from/a", std::string(200'000, 'a'));
  make("from/sub/b", "b");
  std::filesystem::create_symlink("a", path("from/link"));
  std::filesystem::permissions(path("from/sub/b"), std::filesystem::perms(0755));
  Heard packed = on("pack", "from");
  ASSERT_FALSE(packed.failed) << packed.error.message;
  Heard unpacked = on("unpack", "to", "", packed.output);
  ASSERT_FALSE(unpacked.failed) << unpacked.error.message;
  EXPECT_EQ(*unpacked.result.find("files")->as_int(), 4);
  EXPECT_EQ(content(path("to/link")), std::string(200'000, 'a'));
  struct stat info;
  ASSERT_EQ(::stat(path("to/sub/b").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0755u);
  Heard again = on("unpack", "to", "", packed.output);
  EXPECT_FALSE(again.failed) << again.error.message;
  EXPECT_EQ(on("unpack", "to", "", "this is no archive at all, but some text").code(),
            "invalid_argument");
  EXPECT_EQ(on("pack", "none").code(), "not_found");
}

TEST_F(FilesTest, UnpackStaysBeneathItsTarget) {
  // A tar of one file named "../out", made by hand: ustar, size 1.
  std::string head(512, '\0');
  head.replace(0, 6, "../out");
  head.replace(100, 7, "0000644");
  head.replace(108, 7, "0000000");
  head.replace(116, 7, "0000000");
  head.replace(124, 11, "00000000001");
  head.replace(136, 11, "00000000000");
  head[156] = '0';
  head.replace(257, 8, std::string("ustar\00000", 8));
  head.replace(148, 8, "        ");
  unsigned sum = 0;
  for (char c : head) sum += static_cast<unsigned char>(c);
  char digits[8];
  std::snprintf(digits, sizeof digits, "%06o", sum);
  head.replace(148, 8, std::string(digits, 6) + std::string("\0 ", 2));
  Heard heard = on("unpack", "to", "", head + "x" + std::string(511 + 1024, '\0'));
  EXPECT_EQ(heard.code(), "invalid_argument");
  EXPECT_FALSE(std::filesystem::exists(path("out")));
}

TEST_F(FilesTest, WatchesWhatIsMadeInNewDirectories) {
  struct Steps {
    static io::Task<void> watch(std::shared_ptr<Client> client, Value request, std::string folder,
                                io::Milliseconds deadline, std::string& seen) {
      std::shared_ptr<Channel> channel = client->open(request);
      Channel::Item started = co_await channel->next(deadline);
      EXPECT_TRUE(started.value.find("started"));
      std::filesystem::create_directories(folder + "/new/inner");
      std::ofstream(folder + "/new/inner/file") << "x";
      std::filesystem::rename(folder + "/new/inner/file", folder + "/moved");
      std::filesystem::remove(folder + "/moved");
      while (seen.find("remove moved\n") == std::string::npos) {
        Channel::Item item = co_await channel->next(deadline);
        EXPECT_EQ(item.kind, Channel::Item::Kind::message) << item.error.message;
        if (item.kind != Channel::Item::Kind::message) break;
        seen += cat(text(item.value, "type"), " ", text(item.value, "name"),
                    item.value.find("entry") ? "+" : "", "\n");
      }
      channel->cancel();
      Channel::Item cancelled = co_await channel->next(deadline);
      EXPECT_EQ(cancelled.error.message, "cancelled");
    }
  };
  std::string seen;
  Value request =
      json(cat(R"({"op":"watch","user":"root","recursive":true,"path":")", folder_, R"("})"));
  run(Steps::watch(client_, request, folder_, loop_->now() + 10'000, seen));
  EXPECT_NE(seen.find("create new\n"), std::string::npos) << seen;
  EXPECT_NE(seen.find("create new/inner\n"), std::string::npos) << seen;
  EXPECT_NE(seen.find("create moved\n"), std::string::npos) << seen;
  EXPECT_EQ(on("watch", "none").code(), "not_found");
  make("file", "");
  EXPECT_EQ(on("watch", "file").code(), "invalid_argument");
}

TEST_F(FilesTest, ConnectsToAPort) {
  Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  int port = ntohs(address.sin_port);
  EXPECT_EQ(ask(cat(R"({"op":"connect","port":)", port, "}")).error.message, "port is not open");
  ASSERT_EQ(::listen(listener.get(), 1), 0);
  pid_t echo = ::fork();
  if (echo == 0) {
    int peer = ::accept(listener.get(), nullptr, nullptr);
    char buffer[4096];
    ssize_t count;
    while ((count = ::read(peer, buffer, sizeof buffer)) > 0)
      (void)!::write(peer, buffer, static_cast<size_t>(count));
    ::_exit(0);
  }
  std::string bytes(100'000, 'e');
  Heard heard = ask(cat(R"({"op":"connect","port":)", port, "}"), bytes);
  EXPECT_TRUE(heard.output == bytes) << heard.output.size();
  EXPECT_FALSE(heard.failed) << heard.error.message;
  (void)::waitpid(echo, nullptr, 0);
}

}  // namespace

}  // namespace paddock::guest
