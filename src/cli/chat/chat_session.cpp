// ChatSession: keeps the turns of a conversation, and draws replies.
#include "cli/chat/chat_session.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/index.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cli/interrupt.h"
#include "cli/log.h"
#include "cli/reply.h"
#include "text/chat/system_messages.h"

namespace ingot {

namespace {

/// A context is full when a reply could have less than this share of it.
constexpr std::int64_t kReplyShare = 16;

}  // namespace

std::optional<std::string> ChatSession::system() const {
  if (messages_.empty() || messages_.front().role != "system") return std::nullopt;
  return messages_.front().content;
}

void ChatSession::set_system(std::optional<std::string> text) {
  if (system()) messages_.erase(messages_.begin());
  if (text) messages_.insert(messages_.begin(), {"system", to_valid_utf8(*text)});
}

void ChatSession::expect_room(std::size_t more) const {
  // The reply needs a place too.
  if (messages_.size() + more < kChatMessagesMax) return;
  throw Error(ErrorCode::kInvalid, cat("the conversation has ", messages_.size(),
                                       " messages and no room for more: begin a new one"));
}

void ChatSession::add_user(std::string_view text) {
  expect_room(1);
  messages_.push_back({"user", to_valid_utf8(text)});
}

void ChatSession::add_result(const ChatCall& call, std::string text) {
  expect_room(1);
  messages_.push_back(
      {.role = "tool", .content = std::move(text), .call_id = call.id, .name = call.name});
}

bool ChatSession::drop_reply() {
  if (messages_.empty()) return false;
  if (messages_.back().role == "tool") return true;
  if (messages_.back().role != "assistant") return false;
  messages_.pop_back();
  return true;
}

/// Number of the last message of the user; 0 if there is none.
std::int64_t ChatSession::last_turn() const {
  std::int64_t last = std::ssize(messages_) - 1;
  while (last > 0 && at(messages_, last).role != "user") --last;
  return last;
}

void ChatSession::start_over() { messages_ = from(last_turn()); }

void ChatSession::load(std::vector<ChatMessage> messages) {
  // A template may refuse a chat without a message of the user.
  const bool is_new = messages.empty() || messages.back().role == "system";
  used_ = is_new ? 0 : std::ssize(encode(messages));
  messages_ = std::move(messages);
}

void ChatSession::clear() {
  messages_ = from(std::ssize(messages_));
  used_ = 0;
}

/// The system's message and those from number `message` on.
std::vector<ChatMessage> ChatSession::from(std::int64_t message) const {
  std::vector<ChatMessage> rest(messages_.begin(), messages_.begin() + first_turn());
  rest.insert(rest.end(), messages_.begin() + std::max(message, first_turn()), messages_.end());
  return rest;
}

/// The prompt of a reply to these messages.
MarkedText ChatSession::render(const std::vector<ChatMessage>& messages) const {
  ChatInput input{.now = now_};
  for (const ChatMessage& message : messages) {
    input.messages.push(message_json(message, ArgumentForm::kObject));
  }
  if (tools_ != nullptr) tools_->add_to(input);
  const auto name_of = [](std::size_t number) { return cat("messages[", number, "]"); };
  return render_fitted(template_, std::move(input), name_of).text;
}

std::int64_t ChatSession::drop_oldest() {
  std::vector<std::int64_t> turns;  // the first message of each turn
  for (std::int64_t i = first_turn(); i < std::ssize(messages_); ++i) {
    if (at(messages_, i).role == "user") turns.push_back(i);
  }
  if (turns.size() < 2) return 0;
  // Drops the fewest turns that make the rest short enough.
  const std::int64_t wanted = context_ - context_ / 4;
  const auto is_too_long = [&](std::int64_t turn) {
    return std::ssize(encode(from(turn))) > wanted;
  };
  auto first = std::partition_point(turns.begin() + 1, turns.end(), is_too_long);
  if (first == turns.end()) --first;
  messages_ = from(*first);
  return first - turns.begin();
}

std::int64_t ChatSession::prepare() {
  MarkedText prompt = render(messages_);
  ids_ = template_.encode(prompt);
  prompt_ = std::move(prompt.bytes);
  if (system() && !template_.system_rule().one && !std::exchange(has_warned_, true)) {
    log_warning("the chat template has no system message: its text begins the first message");
  }
  return std::ssize(ids_);
}

bool ChatSession::fits() const {
  const std::int64_t share = std::max<std::int64_t>(1, context_ / kReplyShare);
  return std::ssize(ids_) + std::min(share, request_.max_tokens) <= context_;
}

const Outcome& ChatSession::reply(FunctionRef<bool()> stop,
                                  FunctionRef<void(std::string_view)> show) {
  Request request = request_;
  request.prompt = ids_;
  // A repeated reply to a prompt should differ, so each has its own seed.
  request.sampling.seed += static_cast<std::uint64_t>(replies_);
  std::optional<ToolReply> with_calls;
  if (tools_ != nullptr) with_calls.emplace(tools_->begin_reply(prompt_, request), calls_);
  auto stream = engine_.submit(std::move(request));
  INGOT_CHECK(stream.has_value(), "the inbox is full with one request at a time");
  Reply reply;
  for (bool more = true; more;) {
    interruption_point();
    if (stop()) stream->cancel();
    more = engine_.step();
    const std::string text = collect(*stream, reply);
    show(with_calls ? with_calls->add(text) : text);
  }
  if (with_calls) show(with_calls->finish());
  require_alive();
  outcome_ = stream->outcome();
  if (outcome_.error) throw Error(*outcome_.error);
  ++replies_;
  used_ = outcome_.prompt_tokens + outcome_.generated_tokens;
  ChatMessage message{.role = "assistant", .content = std::move(reply.text)};
  if (with_calls) message = with_calls->take();
  if (outcome_.finish != FinishReason::kStop) message.calls.clear();
  calls_ += message.calls.size();
  messages_.push_back(std::move(message));
  return outcome_;
}

bool ChatSession::was_cut() const {
  return outcome_.finish == FinishReason::kLength &&
         outcome_.generated_tokens < request_.max_tokens;
}

}  // namespace ingot
