// The java kernel of one context: JShell in this process. docs/code.md says what it speaks; launch.sh which descriptors.
import java.io.*;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.*;
import jdk.jshell.*;

public class Kernel {
  static final int LONGEST_TEXT = 1 << 20;

  static FileOutputStream line;
  static long cell = 0;
  static volatile boolean running = false, interrupted = false;
  static JShell shell;

  public static void main(String[] arguments) throws Exception {
    BufferedReader commands = new BufferedReader(new InputStreamReader(new FileInputStream(descriptor(3)), StandardCharsets.UTF_8));
    line = new FileOutputStream(descriptor(4));
    System.setOut(new PrintStream(new Output("stdout"), true, StandardCharsets.UTF_8));
    System.setErr(new PrintStream(new Output("stderr"), true, StandardCharsets.UTF_8));
    follow(5, "stdout");
    follow(6, "stderr");
    System.getenv().forEach(Kernel::setProperty);
    shell = JShell.builder().executionEngine("local").out(System.out).err(System.err).build();
    for (String name : List.of("java.io.*", "java.math.*", "java.net.*", "java.nio.file.*", "java.util.*", "java.util.concurrent.*",
                               "java.util.function.*", "java.util.regex.*", "java.util.stream.*")) {
      shell.eval("import " + name + ";");
    }
    sun.misc.Signal.handle(new sun.misc.Signal("INT"), signal -> interrupt());
    send(0, "{\"type\":\"ready\",\"language\":\"java\",\"engine\":\"jshell " + Runtime.version() + "\"}");
    int count = 0;
    for (String text = commands.readLine(); text != null; text = commands.readLine()) {
      Map<?, ?> command;
      try {
        command = (Map<?, ?>) new Json(text).value();
      } catch (RuntimeException error) {
        continue;
      }
      if ("hello".equals(command.get("op"))) send(0, "{\"type\":\"ready\",\"language\":\"java\"}");
      if ("run".equals(command.get("op"))) run(command, ++count);
    }
    System.exit(0);
  }

  // Not by its name in /proc: the pipe may be another user's.
  static FileDescriptor descriptor(int number) throws ReflectiveOperationException {
    var constructor = FileDescriptor.class.getDeclaredConstructor(int.class);
    constructor.setAccessible(true);
    return constructor.newInstance(number);
  }

  static void run(Map<?, ?> command, int count) {
    cell = ((Number) command.get("cell")).longValue();
    send(cell, "{\"type\":\"number_of_executions\",\"execution_count\":" + count + "}");
    Map<String, String> before = new HashMap<>();
    if (command.get("env") instanceof Map<?, ?> env) {
      env.forEach((name, value) -> {
        before.put((String) name, System.getProperty((String) name));
        setProperty((String) name, (String) value);
      });
    }
    interrupted = false;
    running = true;
    try {
      evaluate((String) command.get("code"));
    } catch (RuntimeException error) {
      fail(error.getClass().getSimpleName(), String.valueOf(error.getMessage()), error.toString());
    }
    running = false;
    if (interrupted) fail("KeyboardInterrupt", "Execution was interrupted", "");
    before.forEach(Kernel::setProperty);
    System.out.flush();
    System.err.flush();
    send(cell, "{\"type\":\"end_of_execution\"}");
    cell = 0;
  }

  // Again and again: between two pieces of a cell there is nothing to stop.
  static void interrupt() {
    interrupted = running;
    Thread thread = new Thread(() -> {
      try {
        for (; running && interrupted; Thread.sleep(20)) shell.stop();
      } catch (InterruptedException error) {
        // the end of it
      }
    });
    thread.setDaemon(true);
    thread.start();
  }

  static void setProperty(String name, String value) {
    if (name.isEmpty()) return;
    if (value == null) System.clearProperty(name);
    else System.setProperty(name, value);
  }

  // Piece by piece; the value of the last one is the result when it is an expression.
  static void evaluate(String code) {
    String result = null;
    while (!code.isBlank() && !interrupted) {
      SourceCodeAnalysis.CompletionInfo piece = shell.sourceCodeAnalysis().analyzeCompletion(code);
      String source = piece.source() == null || piece.source().isEmpty() ? code : piece.source();
      String rest = piece.remaining() == null || source == code ? "" : piece.remaining();
      result = null;
      for (SnippetEvent event : shell.eval(source)) {
        if (event.causeSnippet() != null) continue;
        if (event.exception() != null) {
          failed(event.exception());
          return;
        }
        if (event.status() == Snippet.Status.REJECTED) {
          StringBuilder why = new StringBuilder();
          shell.diagnostics(event.snippet()).forEach(one -> why.append(one.getMessage(null)).append('\n'));
          fail("CompilationError", why.toString().strip(), source + "\n" + why);
          return;
        }
        Snippet.SubKind kind = event.snippet().subKind();
        boolean shows = kind == Snippet.SubKind.TEMP_VAR_EXPRESSION_SUBKIND || kind == Snippet.SubKind.VAR_VALUE_SUBKIND;
        if (shows && event.value() != null && !event.value().isEmpty()) result = event.value();
      }
      code = rest;
    }
    if (result == null || interrupted) return;
    if (result.length() > 1 && result.startsWith("\"") && result.endsWith("\"")) result = result.substring(1, result.length() - 1);
    System.out.flush();
    send(cell, "{\"type\":\"result\",\"is_main_result\":true,\"text\":" + quote(result) + "}");
  }

  static void failed(JShellException thrown) {
    String name = thrown instanceof EvalException evaluated ? evaluated.getExceptionClassName() : thrown.getClass().getSimpleName();
    StringWriter trace = new StringWriter();
    trace.write(name + ": " + thrown.getMessage() + "\n");
    for (StackTraceElement element : thrown.getStackTrace()) trace.write("    at " + element + "\n");
    fail(name.substring(name.lastIndexOf('.') + 1), String.valueOf(thrown.getMessage()), trace.toString());
  }

  static void fail(String name, String value, String trace) {
    System.out.flush();
    send(cell, "{\"type\":\"error\",\"name\":" + quote(name) + ",\"value\":" + quote(value) + ",\"traceback\":" + quote(trace) + "}");
  }

  static synchronized void send(long number, String event) {
    try {
      line.write((number + " " + event + "\n").getBytes(StandardCharsets.UTF_8));
    } catch (IOException error) {
      Runtime.getRuntime().halt(1);
    }
  }

  static void say(String stream, String text) {
    if (cell == 0) return;
    for (int at = 0; at < text.length(); at += LONGEST_TEXT) {
      String piece = text.substring(at, Math.min(text.length(), at + LONGEST_TEXT));
      send(cell, "{\"type\":\"" + stream + "\",\"text\":" + quote(piece) + ",\"timestamp\":\"" + Instant.now() + "\"}");
    }
  }

  // What subprocesses write to descriptor 1 or 2.
  static void follow(int number, String stream) {
    Thread thread = new Thread(() -> {
      try (FileInputStream input = new FileInputStream(descriptor(number))) {
        byte[] buffer = new byte[65536];
        for (int size = input.read(buffer); size > 0; size = input.read(buffer)) say(stream, new String(buffer, 0, size, StandardCharsets.UTF_8));
      } catch (Exception error) {
        // the end of it
      }
    });
    thread.setDaemon(true);
    thread.start();
  }

  // An event per line, or per flush at the end of a cell.
  static class Output extends OutputStream {
    final String stream;
    final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    Output(String stream) { this.stream = stream; }
    @Override public synchronized void write(int value) {
      bytes.write(value);
      if (value == '\n') flush();
    }
    @Override public synchronized void write(byte[] data, int from, int size) {
      bytes.write(data, from, size);
      if (size > 0 && data[from + size - 1] == '\n') give();
    }
    @Override public synchronized void flush() { if (!running) give(); }
    void give() {
      if (bytes.size() > 0) say(stream, bytes.toString(StandardCharsets.UTF_8));
      bytes.reset();
    }
  }

  static String quote(String text) {
    StringBuilder out = new StringBuilder("\"");
    for (int at = 0; at < text.length(); ++at) {
      char c = text.charAt(at);
      if (c == '"' || c == '\\') out.append('\\').append(c);
      else if (c == '\n') out.append("\\n");
      else if (c < 0x20) out.append(String.format("\\u%04x", (int) c));
      else out.append(c);
    }
    return out.append('"').toString();
  }

  // The commands are made by the server: objects, texts, numbers, true, false, null.
  static class Json {
    final String text;
    int at = 0;
    Json(String text) { this.text = text; }
    char skip() {
      while (Character.isWhitespace(text.charAt(at))) ++at;
      return text.charAt(at);
    }
    Object value() {
      char c = skip();
      if (c == '{') return object();
      if (c == '"') return string();
      int from = at;
      while (at < text.length() && "-+.eE0123456789truefalsn".indexOf(text.charAt(at)) >= 0) ++at;
      String word = text.substring(from, at);
      if (word.equals("true") || word.equals("false")) return Boolean.valueOf(word);
      return word.equals("null") ? null : (Object) Double.valueOf(word);
    }
    Map<String, Object> object() {
      Map<String, Object> map = new LinkedHashMap<>();
      ++at;
      while (skip() != '}') {
        if (text.charAt(at) == ',') { ++at; skip(); }
        String name = string();
        skip();
        ++at;
        map.put(name, value());
      }
      ++at;
      return map;
    }
    String string() {
      StringBuilder out = new StringBuilder();
      for (++at; text.charAt(at) != '"'; ++at) {
        char c = text.charAt(at);
        if (c != '\\') { out.append(c); continue; }
        c = text.charAt(++at);
        if (c == 'u') { out.append((char) Integer.parseInt(text.substring(at + 1, at + 5), 16)); at += 4; }
        else out.append(c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c == 'b' ? '\b' : c == 'f' ? '\f' : c);
      }
      ++at;
      return out.toString();
    }
  }
}
