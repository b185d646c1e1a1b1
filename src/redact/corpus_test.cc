// A corpus of secrets of every kind in the texts that they are met in, and of what looks alike and
// is none: how many are found, and how many of those that are found are secrets. Everything is made
// here, at random.
#include <cmath>

#include "redact/elements.h"
#include "redact/redact_test.h"

namespace paddock::redact {
namespace {

// A text that a pattern matches.
std::string sample(const std::string& pattern, Random& random) {
  ParsedPattern parsed = parse_pattern(pattern).value();
  std::string text;
  for (const Element& element : random.pick(parsed.alternatives)) {
    if (element.mark) continue;
    std::string alphabet;
    for (size_t byte = 0x20; byte < 0x7f; ++byte)
      if (element.set[byte]) alphabet += static_cast<char>(byte);
    if (alphabet.empty()) alphabet += static_cast<char>(element.set._Find_first());
    size_t most = element.most < 0 ? static_cast<size_t>(element.least) + 8
                                   : static_cast<size_t>(element.most);
    text += random.of(alphabet, static_cast<size_t>(element.least) +
                                    random.below(most - static_cast<size_t>(element.least) + 1));
  }
  return text;
}

std::string luhn_card(Random& random) {
  std::string digits = random.pick(
      std::vector<std::string>{"4", "51", "55", "2221", "34", "37", "6011", "65", "3530"});
  size_t size = digits[0] == '3' && digits != "3530" ? 15 : 16;
  digits += random.of(kDigits, size - 1 - digits.size());
  int sum = 0;
  for (size_t i = 0; i < digits.size(); ++i) {
    int digit = digits[digits.size() - 1 - i] - '0';
    if (i % 2 == 0) digit = digit > 4 ? digit * 2 - 9 : digit * 2;
    sum += digit;
  }
  digits += static_cast<char>('0' + (10 - sum % 10) % 10);
  if (size == 15 || random.below(2)) return digits;
  char separator = random.below(2) ? ' ' : '-';
  for (size_t at : {size_t{12}, size_t{8}, size_t{4}}) digits.insert(at, 1, separator);
  return digits;
}

std::string unpadded(std::string_view text) {
  std::string out = base64(text);
  for (char& c : out) c = c == '+' ? '-' : c == '/' ? '_' : c;
  return out.substr(0, out.find('='));
}

std::string password(Random& random) {
  return random.of(kLetters, 5) + random.of("!#%+.-_", 1) + random.of(kDigits, 4) +
         random.of(kLetters, 3);
}

// Secrets that a pattern alone does not describe; empty: the pattern does.
std::string made(const std::string& kind, Random& random) {
  if (kind == "payment-card") return luhn_card(random);
  if (kind == "telegram-token")
    return random.of("123456789", 1) + random.of(kDigits, 9) + ":AA" + random.of(kAlnum, 33);
  if (kind == "jwt") {
    std::string payload = R"({"sub":")" + random.of(kAlnum, 20) + "\"}";
    return unpadded(R"({"alg":"HS256","typ":"JWT"})") + "." + unpadded(payload) + "." +
           random.of(kAlnum, 43);
  }
  if (kind == "private-key") {
    std::string name = random.pick(
                    std::vector<std::string>{"", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "}),
                key = "-----BEGIN " + name + "PRIVATE KEY-----\n";
    for (int i = 0; i < 5; ++i) key += random.of(kBase64, 64) + "\n";
    return key + random.of(kBase64, 22) + "==\n-----END " + name + "PRIVATE KEY-----";
  }
  if (kind == "url-password")
    return random.pick(std::vector<std::string>{"postgres", "mysql", "https", "redis", "amqp",
                                                "mongodb+srv"}) +
           "://app:" + password(random) + "@db.example.org/x";
  if (kind == "connection-password")
    return "Server=db;User=sa;Password=" + password(random) + ";Encrypt=true";
  if (kind == "bearer-token") return "Authorization: Bearer " + random.of(kAlnum, 40);
  if (kind == "basic-auth") return "Authorization: Basic " + base64("user:" + password(random));
  if (kind == "authorization") return "Authorization: token " + random.of(kHex, 40);
  if (kind == "api-header") return "X-API-Key: " + random.of(kAlnum, 32);
  if (kind == "cookie") return "Set-Cookie: sessionid=" + random.of(kAlnum, 32);
  if (kind == "command-password")
    return "curl -s -u joe:" + password(random) + " https://example.org";
  if (kind == "netrc-password") return "machine example.org login joe password " + password(random);
  if (kind == "npmrc-password") return "//npm.example.org/:_authToken=" + random.of(kAlnum, 36);
  if (kind == "discord-token")
    return unpadded(random.of(kDigits, 18)) + "." + random.of(kAlnum, 6) + "." +
           random.of(kAlnum, 38);
  if (kind == "generic-secret") {
    std::string name = random.pick(
        std::vector<std::string>{"DB_PASSWORD", "api_key", "clientSecret", "auth-token",
                                 "secret_key", "SMTP_PASS", "access_key", "signing-key"});
    std::string value =
        random.below(3) ? random.of(kAlnum, 16 + random.below(30)) : password(random);
    return name + random.pick(std::vector<std::string>{"=", ": ", " = \"", "\": \"", " := '"}) +
           value;
  }
  return "";
}

// What a secret stands in: shell, JSON, YAML, logs, programs, addresses.
std::string in_context(const std::string& secret, Random& random) {
  if (secret.find('\n') != secret.npos || secret.find_first_of(" =:\"'") != secret.npos)
    return random.pick(std::vector<std::string>{"", "\n", "see ", "$ "}) + secret + "\n";
  switch (random.below(8)) {
    case 0: return "export VALUE=" + secret + "\n";
    case 1: return "{\"value\":\"" + secret + "\",\"n\":1}\n";
    case 2: return "value: " + secret + "\nnext: 1\n";
    case 3: return "2026-03-01T10:00:00Z INFO got '" + secret + "' from upstream\n";
    case 4: return "const value = `" + secret + "`;\n";
    case 5: return "GET /x?value=" + secret + "&page=2 HTTP/1.1\r\n";
    case 6: return "value," + secret + ",3\n";
    default: return "(" + secret + ")\n";
  }
}

std::string uuid(Random& random) {
  return random.of(kHex, 8) + "-" + random.of(kHex, 4) + "-4" + random.of(kHex, 3) + "-a" +
         random.of(kHex, 3) + "-" + random.of(kHex, 12);
}

std::string harmless(Random& random) {
  static const std::vector<std::string> words{
      "the",     "token",  "of",         "password", "lorem",       "ipsum",     "secret",
      "key",     "author", "basic",      "bearer",   "session",     "access",    "to",
      "passage", "api",    "credential", "machine",  "login",       "cookie",    "is",
      "reset",   "and",    "Postgres",   "Slack",    "token-based", "secretary", "authorization"};
  auto sentence = [&](size_t count) {
    std::string text;
    for (size_t i = 0; i < count; ++i) text += (i ? " " : "") + random.pick(words);
    return text;
  };
  switch (random.below(32)) {
    case 0: return "id: " + uuid(random);
    case 1: return "commit " + random.of(kHex, 40);
    case 2: return random.of(kHex, 64) + "  file-" + random.of(kDigits, 3) + ".tar.gz";
    case 3: return "\"integrity\": \"sha512-" + random.of(kBase64, 86) + "==\",";
    case 4: return "src=\"data:image/png;base64," + random.of(kBase64, 200) + "\"";
    case 5: return sentence(12) + ".";
    case 6:
      return "!function(e,t){var n=e(" + random.of(kSmall, 2) + "),r=" + random.of(kDigits, 4) +
             ";return n&&r[\"token\"]?e.secret(t):null}(window,document);";
    case 7:
      return "call +1 (555) 010-" + random.of(kDigits, 4) + " or +49 30 " + random.of(kDigits, 8);
    case 8:
      return "ISBN 978-3-16-148410-" + random.of(kDigits, 1) + " / 978" + random.of(kDigits, 10);
    case 9:
      return "2026-0" + random.of("123456789", 1) + "-1" + random.of(kDigits, 1) + "T1" +
             random.of(kDigits, 1) + ":2" + random.of(kDigits, 1) + ":33.123Z ts=17" +
             random.of(kDigits, 11);
    case 10:
      return "10." + std::to_string(random.below(256)) + "." + std::to_string(random.below(256)) +
             ".7:8080 -> [2001:db8::" + random.of(kHex, 4) + "]:443";
    case 11: return "https://example.org:8443/path/" + random.of(kAlnum, 12) + "?page=2#section";
    case 12: return "password: ${DB_PASSWORD}  token: <your-token>  api_key: changeme123";
    case 13: return "token_count=" + random.of(kDigits, 8) + " max_tokens: 4096 tokenizer=gpt2";
    case 14: return "self.password = get_password(config.token_name)";
    case 15: return "if (user.password !== hashedPassword) throw new AuthError(secretKeyMissing);";
    case 16: return "ETag: \"" + random.of(kHex, 32) + "\"  X-Request-Id: " + uuid(random);
    case 17:
      return "-----BEGIN CERTIFICATE-----\n" + random.of(kBase64, 64) +
             "\n-----END CERTIFICATE-----";
    case 18: return "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + random.of(kBase64, 43) + " joe@host";
    case 19:
      return std::to_string(random.next() % 1000000) + "." + random.of(kDigits, 6) + " -0." +
             random.of(kDigits, 16) + " 1e-" + random.of(kDigits, 2);
    case 20:
      return "order " + random.of("789", 1) + random.of(kDigits, 11) + " tracking 1Z" +
             random.of(kDigits, 16);
    case 21: return "def authorize(token: str, secret: Optional[str] = None) -> bool:";
    case 22: return "docker pull registry.example.org/app@sha256:" + random.of(kHex, 64);
    case 23: return "Authorization: Bearer ${TOKEN}\nAuthorization: Basic realm";
    case 24: return "user@host.example.org:~/src$ git push origin main";
    case 25: return "drwxr-xr-x 2 root root 4096 Mar  1 10:00 secrets.d";
    case 26: return "secretName: web-tls\nsecretKeyRef:\n  name: db\n  key: password";
    case 27:
      return "aws_access_key_id = YOUR_ACCESS_KEY  sk-learn ghp_pages npm_config_cache hf_hub xoxo";
    case 28:
      return random.of(kSmall, 8) + "@example.org, " + random.of(kSmall, 6) + "." +
             random.of(kSmall, 7) + "@mail.example.com";
    case 29: return "#include <openssl/evp.h>  // private_key: see PEM_read_PrivateKey";
    case 30:
      return "\"resolved\": \"https://packages.example/" + random.of(kSmall, 9) + "/-/" +
             random.of(kSmall, 9) + "-1.2.3.tgz\",";
    default:
      return "AKIA example, eyJ is how a JWT begins, SG.x is not one, v1.0-rc1, pat-eu1, "
             "key-value " +
             random.of(kHex, 12);
  }
}

TEST(Corpus, NearlyEverySecretIsFoundAndNearlyEverythingFoundIsOne) {
  Random random(2026);
  std::map<std::string, std::vector<std::string>> patterns;
  for (const auto& file :
       std::filesystem::directory_iterator(PADDOCK_SOURCE_DIR "/presets/redact")) {
    if (file.path().extension() != ".toml") continue;
    Value root = parse_toml(read_file(file.path().string()).value(), "rules").value();
    for (const Value& rule : *root.find("rule")->as_array())
      patterns[*rule.find("kind")->as_string()].push_back(*rule.find("pattern")->as_string());
  }
  constexpr int kEach = 60;
  size_t found = 0, missed = 0, false_ones = 0;
  std::map<std::string, std::string> misses;
  for (const auto& [kind, kind_patterns] : patterns) {
    size_t kind_found = 0;
    for (int i = 0; i < kEach; ++i) {
      std::string secret = made(kind, random);
      if (secret.empty()) secret = sample(random.pick(kind_patterns), random);
      std::string text = in_context(secret, random), out = redacted(*Rules::common(), text);
      bool is_found = out.find("[redacted:") != out.npos && out.find(secret) == out.npos;
      kind_found += is_found;
      if (!is_found) misses[kind] = text;
    }
    found += kind_found;
    missed += kEach - kind_found;
    if (kind == "generic-secret")
      EXPECT_GE(kind_found, kEach * 95 / 100) << misses[kind];
    else
      EXPECT_EQ(kind_found, static_cast<size_t>(kEach)) << kind << ": " << misses[kind];
  }
  std::map<std::string, std::string> wrong;
  constexpr size_t kHarmless = 20000;
  for (size_t i = 0; i < kHarmless; ++i) {
    std::string text = harmless(random) + "\n";
    Counts counts;
    std::string out = redacted(*Rules::common(), text, &counts);
    false_ones += total(counts);
    for (const auto& [kind, count] : counts) wrong[kind] = text + "  gave " + out;
  }
  double recall = static_cast<double>(found) / static_cast<double>(found + missed),
         precision = static_cast<double>(found) / static_cast<double>(found + false_ones);
  std::printf(
      "[ corpus   ] %zu secrets of %zu kinds, %zu harmless lines: recall %.4f, precision %.4f\n",
      found + missed, patterns.size(), kHarmless, recall, precision);
  for (const auto& [kind, text] : wrong)
    std::printf("[ corpus   ]   false %s: %s", kind.c_str(), text.c_str());
  EXPECT_GE(recall, 0.999);
  EXPECT_GE(precision, 0.99);
}

TEST(Corpus, EveryKnownValueIsFoundInEveryForm) {
  Random random(7);
  size_t forms = 0;
  for (int round = 0; round < 60; ++round) {
    std::string value = random.of("abcdefXYZ0189_-/+= \"'\\&<>\xc3\xa9", 1) +
                        random.of(kAlnum, 10 + random.below(40)) + random.of("/+=_-\"&", 2);
    bool changed = false;
    value = to_utf8(value, &changed);
    std::shared_ptr<const Rules> rules = rules_with({.secrets = {{"V", value}}});
    std::string json, shell = "'", percent;
    append_json_string(value, json);
    for (unsigned char c : value) {
      if (c == '\'')
        shell += "'\\''";
      else
        shell += static_cast<char>(c);
      char hex[4];
      std::snprintf(hex, sizeof hex, "%%%02X", c);
      if (std::isalnum(c) || c == '-' || c == '_' || c == '.' || c == '~')
        percent += static_cast<char>(c);
      else
        percent += hex;
    }
    std::string hex = [&] {
      std::string all;
      for (unsigned char c : value) {
        char pair[3];
        std::snprintf(pair, sizeof pair, "%02x", c);
        all += pair;
      }
      return all;
    }();
    for (const std::string& text : {value, json.substr(1, json.size() - 2), shell, percent, hex,
                                    base64(value), base64("x" + value), base64("xy" + value + "z"),
                                    std::string(value.rbegin(), value.rend())}) {
      ++forms;
      std::string out = redacted(*rules, in_context(text, random));
      ASSERT_NE(out.find("[redacted:V]"), out.npos) << text;
    }
  }
  std::printf("[ corpus   ] known values: %zu forms, recall 1.0\n", forms);
}

}  // namespace
}  // namespace paddock::redact
