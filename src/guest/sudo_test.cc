// sudo, as a program would call it: the client runs in a child that the guest started.
#include "guest/sudo.h"

#include <pty.h>
#include <sys/un.h>

#include "guest/guest_test.h"

namespace paddock::guest {

namespace {

std::vector<std::string> words(const std::string& text) { return words_in(text); }

TEST(SudoCommandTest, ReadsItsOptions) {
  SudoCommand command = parse_sudo(words("-nE -u user -g staff A=1 ls -la"));
  EXPECT_EQ(command.status, -1);
  EXPECT_EQ(command.request.user, "user");
  EXPECT_EQ(command.request.group, "staff");
  EXPECT_TRUE(command.request.keep_environment);
  EXPECT_EQ(join(command.request.assignments, " "), "A=1");
  EXPECT_EQ(join(command.request.argv, " "), "ls -la");
  EXPECT_EQ(join(parse_sudo(words("-uroot --non-interactive -- -x")).request.argv, " "), "-x");
  EXPECT_EQ(parse_sudo(words("--user=bob id")).request.user, "bob");
  EXPECT_TRUE(parse_sudo(words("-i")).request.login);
}

TEST(SudoCommandTest, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(parse_sudo(words("-9 ls")).status, 1);
  EXPECT_EQ(parse_sudo(words("-9 ls")).say.substr(0, 32), "sudo: invalid option -- '9'\nusag");
  EXPECT_EQ(parse_sudo(words("--nonsense ls")).status, 1);
  EXPECT_EQ(parse_sudo({}).status, 1);
  EXPECT_EQ(parse_sudo(words("-u")).status, 1);
  EXPECT_EQ(parse_sudo(words("-v")).status, 0);
}

TEST(SudoRequestTest, TravelsAsItIs) {
  SudoRequest request;
  request.user = "user";
  request.argv = {"a", "", "\xff\n"};
  request.environment = {"A=b"};
  request.login = true;
  Result<SudoRequest> read = decode_sudo(encode(request));
  ASSERT_TRUE(read);
  EXPECT_EQ(read.value().argv, request.argv);
  EXPECT_EQ(encode(read.value()), encode(request));
  EXPECT_FALSE(decode_sudo("nonsense"));
  EXPECT_FALSE(decode_sudo(encode(request) + "x"));
}

class SudoTest : public GuestTest {
 protected:
  // Calls sudo in a child of this process. What it wrote, and its wait status.
  std::string sudo(std::vector<std::string> arguments, int* status, int signal_after = 0) {
    arguments.insert(arguments.begin(), "sudo");
    Result<Pipe> pipe = make_pipe();
    std::string socket = path("sudo.sock");
    pid_t pid = ::fork();
    if (pid == 0) {
      (void)::dup2(pipe.value().write.get(), 1);
      (void)::dup2(pipe.value().write.get(), 2);
      std::vector<char*> argv;
      for (std::string& argument : arguments) argv.push_back(argument.data());
      (void)!::chdir("/");
      ::_exit(sudo_main(static_cast<int>(argv.size()), argv.data(), socket.c_str()));
    }
    pipe.value().write.reset();
    std::string out;
    char bytes[4096];
    ssize_t count;
    while ((count = ::read(pipe.value().read.get(), bytes, sizeof bytes)) > 0) {
      out.append(bytes, static_cast<size_t>(count));
      if (signal_after) (void)::kill(pid, std::exchange(signal_after, 0));
    }
    (void)::waitpid(pid, status, 0);
    return out;
  }
  void SetUp() override {
    GuestTest::SetUp();
    auto greet = [](std::shared_ptr<Client> client, io::Milliseconds deadline) -> io::Task<void> {
      Result<Value> hello = co_await client->shake_hands(deadline);
      EXPECT_TRUE(hello);
    };
    run(greet(client_, loop_->now() + 10'000));  // the door is open by then
  }
};

TEST_F(SudoTest, RunsACommandAndEndsLikeIt) {
  int status = 0;
  EXPECT_EQ(sudo({"A=b", "sh", "-c", "echo $A $SUDO_USER; pwd; exit 4"}, &status).substr(0, 2),
            "b ");
  EXPECT_EQ(WEXITSTATUS(status), 4);
  EXPECT_EQ(sudo({"/not/there"}, &status), "sudo: /not/there: command not found\n");
  EXPECT_EQ(WEXITSTATUS(status), 1);
  EXPECT_EQ(sudo({"-u", "nobody-of-that-name", "id"}, &status),
            "sudo: unknown user: nobody-of-that-name\n");
  EXPECT_EQ(sudo({"-s", "echo", "it's", "$HOME"}, &status), "it's $HOME\n");
  (void)sudo({"sh", "-c", "kill -USR1 $$"}, &status);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGUSR1);
}

TEST_F(SudoTest, HandsSignalsOn) {
  int status = 0;
  std::string out =
      sudo({"sh", "-c", "trap 'echo caught; exit 5' TERM; echo up; while :; do sleep 0.1; done"},
           &status, SIGTERM);
  EXPECT_EQ(out, "up\ncaught\n");
  EXPECT_EQ(WEXITSTATUS(status), 5);
}

TEST_F(SudoTest, TheCommandHangsUpWithSudo) {
  int status = 0;
  std::string out =
      sudo({"sh", "-c", "trap 'echo hup; exit' HUP; echo up; while :; do sleep 0.1; done"}, &status,
           SIGKILL);
  EXPECT_EQ(out.substr(0, 3), "up\n");
  EXPECT_TRUE(ends_with(out, "hup\n")) << out;  // the shell may tell of its own child first
  EXPECT_TRUE(WIFSIGNALED(status));
}

TEST_F(SudoTest, AtATerminalTheCommandGetsOneOfItsOwn) {
  winsize size{30, 90, 0, 0};
  int master = -1;
  std::string socket = path("sudo.sock");
  pid_t pid = ::forkpty(&master, nullptr, nullptr, &size);
  ASSERT_GE(pid, 0);
  if (pid == 0) {
    (void)!::chdir("/");
    std::vector<std::string> words = {
        "sudo", "sh", "-c", "stty size; echo mine > /dev/tty; read line; echo got $line; exit 3"};
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    ::_exit(sudo_main(static_cast<int>(argv.size()), argv.data(), socket.c_str()));
  }
  Fd terminal(master);
  std::string shown;
  char bytes[4096];
  ssize_t count;
  bool typed = false;
  while ((count = ::read(master, bytes, sizeof bytes)) > 0) {
    shown.append(bytes, static_cast<size_t>(count));
    if (!typed && shown.find("mine") != std::string::npos) typed = ::write(master, "key\n", 4) == 4;
  }
  int status = 0;
  (void)::waitpid(pid, &status, 0);
  EXPECT_EQ(shown.substr(0, 7), "30 90\r\n") << shown;
  EXPECT_NE(shown.find("got key"), std::string::npos) << shown;
  EXPECT_EQ(WEXITSTATUS(status), 3);
}

TEST_F(SudoTest, GarbageAtTheDoorHarmsNobody) {
  for (int i = 0; i < 300; ++i) {
    Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::string name = path("sudo.sock");
    name.copy(address.sun_path, sizeof address.sun_path - 1);
    ASSERT_EQ(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    std::string garbage =
        i % 2 ? std::string("\xff\xff\xff\xff") : std::string("\x05\x00\x00\x00hello", 9);
    (void)::send(socket.get(), garbage.data(), garbage.size(), MSG_NOSIGNAL);
  }
  int status = 0;
  EXPECT_EQ(sudo({"echo", "fine"}, &status), "fine\n");
  EXPECT_FALSE(ask(R"({"op":"processes"})").failed);
}

}  // namespace

}  // namespace paddock::guest
