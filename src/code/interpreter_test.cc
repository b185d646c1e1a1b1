#include "code/interpreter.h"

#include <gtest/gtest.h>

#include "code/languages.h"

namespace paddock::code {
namespace {

TEST(Interpreter, KnowsLanguagesByTheNamesThatClientsUse) {
  for (const char* name : {"js", " JavaScript ", "node"})
    EXPECT_EQ(language_of(name).value(), "javascript");
  EXPECT_EQ(language_of("TS").value(), "typescript");
  EXPECT_EQ(language_of("python").value(), "python");
  EXPECT_EQ(language_of("cobol").error().code, Code::invalid);
  EXPECT_EQ(language_of("").error().code, Code::invalid);
  EXPECT_EQ(language_of("\x1b[31m").error().message.find('\x1b'), std::string::npos);
}

TEST(Interpreter, FindsContextsByTheTagsOfTheirProcesses) {
  ContextInfo made{"0b1c-2d", "bash", "/", true}, found;
  ASSERT_TRUE(Kernel::parse_tag(Kernel::tag_of(made), found));
  EXPECT_EQ(found.id, made.id);
  EXPECT_EQ(found.language, made.language);
  EXPECT_TRUE(found.is_default);
  made.is_default = false;
  ASSERT_TRUE(Kernel::parse_tag(Kernel::tag_of(made), found));
  EXPECT_FALSE(found.is_default);
}

TEST(Interpreter, TakesNoOtherTagForItsOwn) {
  ContextInfo found;
  for (const char* tag :
       {"", "mine", "paddock-kernel/", "paddock-kernel/python", "paddock-kernel/python/",
        "paddock-kernel/cobol/1", "paddock-kernel/python/../x", "paddock-kernel/python/A B",
        "paddock-kernel/python/1/default/more"})
    EXPECT_FALSE(Kernel::parse_tag(tag, found)) << tag;
}

}  // namespace
}  // namespace paddock::code
