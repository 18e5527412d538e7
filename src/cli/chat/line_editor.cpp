// Reads lines from a terminal with libedit.
#include "cli/chat/line_editor.h"

#include <histedit.h>
#include <signal.h>

#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cwchar>

#include "base/error.h"
#include "base/index.h"
#include "cli/interrupt.h"

namespace ingot {

namespace {

constexpr int kHistoryLines = 1000;

/// libedit splits characters by the locale; without a UTF-8 locale it would see bytes.
void use_utf8() {
  std::setlocale(LC_CTYPE, "");
  if (MB_CUR_MAX == 1) std::setlocale(LC_CTYPE, "C.UTF-8");
}

}  // namespace

LineEditor::LineEditor() {
  use_utf8();
  editor_ = el_init("ingot", stdin, stdout, stderr);
  history_ = history_init();
  if (editor_ == nullptr || history_ == nullptr) {
    throw Error(ErrorCode::kInternal, "the terminal cannot be used for editing lines");
  }
  HistEvent event;
  history(history_, &event, H_SETSIZE, kHistoryLines);
  history(history_, &event, H_SETUNIQUE, 1);
  el_set(editor_, EL_CLIENTDATA, this);
  el_set(editor_, EL_HIST, history, history_);
  el_set(editor_, EL_PROMPT, show_prompt);
  el_set(editor_, EL_EDITOR, "emacs");
  el_set(editor_, EL_SIGNAL, 1);
  // Signal keys arrive as characters, so that no signal comes at a wrong moment.
  el_set(editor_, EL_SETTY, "-d", "-isig", nullptr);
  // The wide call keeps the names; the narrow one keeps copies that it never frees.
  el_wset(editor_, EL_ADDFN, L"ingot-stop-line", L"drop the line", stop_line);
  el_wset(editor_, EL_ADDFN, L"ingot-suspend", L"suspend the program", suspend);
  el_set(editor_, EL_BIND, "^C", "ingot-stop-line", nullptr);
  el_set(editor_, EL_BIND, "^Z", "ingot-suspend", nullptr);
}

LineEditor::~LineEditor() {
  if (history_ != nullptr) history_end(history_);
  if (editor_ != nullptr) el_end(editor_);
}

unsigned char LineEditor::stop_line(editline* editor, std::wint_t) {
  LineEditor* self = nullptr;
  el_get(editor, EL_CLIENTDATA, &self);
  const LineInfo* line = el_line(editor);
  self->stopped_ = true;
  self->was_empty_ = line->lastchar == line->buffer;
  return CC_EOF;
}

unsigned char LineEditor::suspend(editline*, std::wint_t) {
  raise(SIGTSTP);
  return CC_REDISPLAY;
}

char* LineEditor::show_prompt(editline* editor) {
  LineEditor* self = nullptr;
  el_get(editor, EL_CLIENTDATA, &self);
  return self->prompt_.data();
}

TypedLine LineEditor::read(const std::string& prompt) {
  prompt_ = prompt;
  stopped_ = false;
  int count = 0;
  // Otherwise keys typed right after the prompt, before libedit turns off the terminal's echo,
  // would appear twice.
  el_set(editor_, EL_PREP_TERM, 1);
  const char* line = el_gets(editor_, &count);
  interruption_point();
  if (stopped_) return {.end = LineEnd::kInterrupt, .text = {}, .was_empty = was_empty_};
  if (line == nullptr || count <= 0)
    return {.end = LineEnd::kClosed, .text = {}, .was_empty = true};
  std::string text(line, to_size(count));
  if (text.ends_with('\n')) text.pop_back();
  const bool was_empty = text.empty();
  return {.end = LineEnd::kEnter, .text = std::move(text), .was_empty = was_empty};
}

void LineEditor::remember(const std::string& line) {
  HistEvent event;
  history(history_, &event, H_ENTER, line.c_str());
}

}  // namespace ingot
