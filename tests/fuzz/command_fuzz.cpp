// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "../unit/command/fake_host.hpp"

#include <latchd/resp/decoder.hpp>

#include <hiredis/hiredis.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>

namespace {

using latchd::command::ClientState;
using latchd::command::Disposition;

// How many whole replies these bytes are; aborts where they are anything else.
std::size_t count_replies(std::string_view bytes) {
    const std::unique_ptr<redisReader, void (*)(redisReader*)> reader(redisReaderCreate(),
                                                                      redisReaderFree);
    redisReaderFeed(reader.get(), bytes.data(), bytes.size());
    std::size_t count = 0;
    for (;; ++count) {
        void* reply = nullptr;
        if (redisReaderGetReply(reader.get(), &reply) != REDIS_OK) std::abort();
        if (reply == nullptr) break;
        freeReplyObject(reply);
    }
    if (reader->pos != reader->len) std::abort();
    return count;
}

// A request has one reply, or none yet. Only subscribing may have more (one for each channel) and
// CLIENT less (REPLY OFF).
void check(const ClientState& client,
           std::string_view name,
           Disposition::Kind kind,
           std::string_view reply) {
    const bool later = kind == Disposition::Kind::started || kind == Disposition::Kind::postponed;
    if (later && !reply.empty()) std::abort();
    // Debian's hiredis reads RESP2 only.
    if (later || client.proto == 3) return;
    const std::size_t count = count_replies(reply);
    if (count == 0 && name.size() != 6) std::abort();
    if (count > 1 && name.size() < 9) std::abort();
}

}  // namespace

// One connection without a password that sends whatever the bytes say.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    latchd::command::Fixture fixture;
    latchd::command::ClientState& client = fixture.connect();
    latchd::resp::Decoder decoder(latchd::resp::ClientTrust::authenticated);
    decoder.feed({reinterpret_cast<const char*>(data), size});
    for (auto request = decoder.next(); request.status == latchd::resp::DecodeStatus::request;
         request = decoder.next()) {
        const bool answers =
            client.reply_mode == latchd::command::ReplyMode::on && client.proto == 2;
        std::string reply;
        const auto disposition =
            fixture.dispatcher.run(client, request.arguments, ++fixture.slot, reply);
        if (answers) check(client, request.arguments[0], disposition.kind, reply);
        if (disposition.started) {
            fixture.dispatcher.finish(
                client, disposition.started->pending, latchd::core::Number{1}, reply);
        }
    }
    fixture.dispatcher.gone(client);
    return 0;
}
