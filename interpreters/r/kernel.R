# The R side of the R kernel: runs cells in the global environment and reports what comes of them. Commands are lines that hold
# one R literal each; reports are a line with a kind and a length, and that many bytes. docs/code.md says what users see.
local({
  arguments <- commandArgs(trailingOnly = TRUE)
  commands <- file(paste0("/dev/fd/", arguments[[1]]), "r", raw = TRUE, encoding = "UTF-8")
  reports <- file(paste0("/dev/fd/", arguments[[2]]), "wb", raw = TRUE)
  pictures <- tempfile("plots")
  dir.create(pictures)

  # The same for everyone who plots: a picture for each page, found at the end of the cell.
  options(warn = 1, device = function(...) {
    type <- if (capabilities("cairo")) "cairo" else getOption("bitmapType")
    grDevices::png(file.path(pictures, "plot%04d.png"), width = 960, height = 720, res = 120, type = type)
  })

  report <- function(kind, text = "") {
    bytes <- charToRaw(enc2utf8(text))
    suspendInterrupts({
      writeBin(c(charToRaw(sprintf("%s %d\n", kind, length(bytes))), bytes), reports)
      flush(reports)
    })
  }

  fail <- function(name, value, calls = NULL) {
    lines <- vapply(calls, function(call) paste0("  at ", substr(paste(deparse(call, nlines = 1L), collapse = " "), 1, 200)), "")
    report("error", paste(name, value, paste(c(paste0(name, ": ", value), lines), collapse = "\n"), sep = "\001"))
  }

  show_pictures <- function() {
    grDevices::graphics.off()
    for (path in list.files(pictures, full.names = TRUE)) report("png", path)
  }

  # The calls of the cell alone: without ours above them, and without R's own handling of the condition below.
  calls_of_cell <- function(calls) {
    mine <- which(vapply(calls, function(call) identical(call[[1]], quote(eval_in_cell)), TRUE))
    calls <- if (length(mine)) calls[-seq_len(max(mine) + 3L)] else calls
    Filter(function(call) !is.name(call[[1]]) || !(as.character(call[[1]]) %in% c(".handleSimpleError", "h", "doWithOneRestart")), calls)
  }

  eval_in_cell <- function(expression) withVisible(eval(expression, globalenv()))

  run <- function(code) {
    expressions <- tryCatch(parse(text = code, keep.source = TRUE), error = identity)
    if (inherits(expressions, "error")) return(fail("ParseError", conditionMessage(expressions)))
    calls <- NULL
    failed <- tryCatch(withCallingHandlers({
      for (index in seq_along(expressions)) {
        value <- eval_in_cell(expressions[[index]])
        if (!value$visible) next
        if (index < length(expressions)) print(value$value)
        else report("result", paste(utils::capture.output(print(value$value)), collapse = "\n"))
      }
      NULL
    }, error = function(condition) calls <<- calls_of_cell(sys.calls())), error = identity)
    if (is.null(failed)) return()
    name <- class(failed)[[1]]
    fail(if (name == "simpleError") "Error" else name, conditionMessage(failed), calls)
  }

  with_variables <- function(variables, action) {
    if (length(variables)) {
      before <- Sys.getenv(names(variables), unset = NA, names = TRUE)
      on.exit({
        if (any(!is.na(before))) do.call(Sys.setenv, as.list(before[!is.na(before)]))
        Sys.unsetenv(names(before)[is.na(before)])
      })
      do.call(Sys.setenv, as.list(variables))
    }
    action()
  }

  report("ready", R.version.string)
  repeat {
    line <- tryCatch(readLines(commands, 1L, warn = FALSE), interrupt = function(condition) "")
    if (length(line) == 0L) break
    command <- tryCatch(eval(parse(text = line, encoding = "UTF-8", keep.source = FALSE)), error = function(condition) NULL)
    if (is.null(command)) next
    tryCatch({
      if (!is.null(command$code)) {
        with_variables(command$env, function() run(command$code))
        show_pictures()
      } else Sys.sleep(0.02)  # an interrupt that came late is taken here
    }, interrupt = function(condition) fail("KeyboardInterrupt", "the cell was interrupted"),
       error = function(condition) fail("Error", conditionMessage(condition)))
    tryCatch(report("end", as.character(command$number)), interrupt = function(condition) report("end", as.character(command$number)))
  }
})
