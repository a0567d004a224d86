// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
// The only file that knows yaml-cpp. It is used as an event stream, because its node type loses
// what the checks need: duplicate keys, the text of scalars, anchors.
#include "yaml_document.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <sstream>
#include <utility>

namespace latchd::config {
namespace {

Origin at(const YAML::Mark& mark) {
    return {.kind = Origin::Kind::file, .line = mark.line + 1, .column = mark.column + 1};
}

class TreeBuilder final : public YAML::EventHandler {
public:
    explicit TreeBuilder(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

    YamlNode take() { return std::move(root_); }

    void OnDocumentStart(const YAML::Mark&) override {}
    void OnDocumentEnd() override {}
    void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        refuse_anchor(mark, anchor);
        add(make(YamlNode::Kind::null, mark));
    }
    void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
        refuse(mark, "aliases ('*name') are not supported; write the value out");
        add(make(YamlNode::Kind::null, mark));
    }
    void OnScalar(const YAML::Mark& mark,
                  const std::string& tag,
                  YAML::anchor_t anchor,
                  const std::string& value) override {
        refuse_anchor(mark, anchor);
        refuse_tag(mark, tag);
        auto node = make(YamlNode::Kind::scalar, mark);
        node.text = value;
        add(std::move(node));
    }
    void OnSequenceStart(const YAML::Mark& mark,
                         const std::string& tag,
                         YAML::anchor_t anchor,
                         YAML::EmitterStyle::value) override {
        start(YamlNode::Kind::sequence, mark, tag, anchor);
    }
    void OnSequenceEnd() override { finish(); }
    void OnMapStart(const YAML::Mark& mark,
                    const std::string& tag,
                    YAML::anchor_t anchor,
                    YAML::EmitterStyle::value) override {
        start(YamlNode::Kind::map, mark, tag, anchor);
    }
    void OnMapEnd() override { finish(); }

private:
    static YamlNode make(YamlNode::Kind kind, const YAML::Mark& mark) {
        YamlNode node;
        node.kind = kind;
        node.origin = at(mark);
        return node;
    }

    void start(YamlNode::Kind kind,
               const YAML::Mark& mark,
               const std::string& tag,
               YAML::anchor_t anchor) {
        refuse_anchor(mark, anchor);
        refuse_tag(mark, tag);
        open_.push_back(make(kind, mark));
    }

    void finish() {
        auto node = std::move(open_.back());
        open_.pop_back();
        add(std::move(node));
    }

    void add(YamlNode node) {
        if (open_.empty()) {
            root_ = std::move(node);
            return;
        }
        auto& parent = open_.back();
        const bool is_key =
            parent.kind == YamlNode::Kind::map && parent.keys.size() == parent.values.size();
        (is_key ? parent.keys : parent.values).push_back(std::move(node));
    }

    void refuse(const YAML::Mark& mark, std::string text) {
        diagnostics_.push_back(
            {.severity = Diagnostic::Severity::error, .origin = at(mark), .text = std::move(text)});
    }
    void refuse_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) {
        if (anchor != 0) refuse(mark, "anchors ('&name') are not supported; write the value out");
    }
    void refuse_tag(const YAML::Mark& mark, const std::string& tag) {
        // yaml-cpp's own marks for plain and quoted scalars.
        if (!tag.empty() && tag != "?" && tag != "!") {
            refuse(mark, "tags ('!name') are not supported");
        }
    }

    Diagnostics& diagnostics_;
    std::vector<YamlNode> open_;
    YamlNode root_;
};

// yaml-cpp calls a tab in the indentation an "illegal map value", and not always on its line.
bool find_tab(const std::string& text, int last_line, Origin& origin) {
    std::istringstream lines(text);
    std::string line;
    for (int number = 1; number <= last_line && std::getline(lines, line); ++number) {
        const auto indentation = line.substr(0, line.find_first_not_of(" \t\r"));
        const auto tab = indentation.find('\t');
        if (tab != std::string::npos && indentation.size() < line.size()) {
            origin = {
                .kind = Origin::Kind::file, .line = number, .column = static_cast<int>(tab) + 1};
            return true;
        }
    }
    return false;
}

}  // namespace

YamlNode read_yaml(const std::string& text, Diagnostics& diagnostics) {
    TreeBuilder builder(diagnostics);
    TreeBuilder rest(diagnostics);
    std::istringstream in(text);
    const auto fail = [&](Origin origin, std::string why) {
        diagnostics.push_back(
            {.severity = Diagnostic::Severity::error, .origin = origin, .text = std::move(why)});
    };
    try {
        YAML::Parser parser(in);
        parser.HandleNextDocument(builder);
        if (parser.HandleNextDocument(rest)) {
            fail(rest.take().origin, "a second document ('---') is not supported");
        }
    } catch (const YAML::Exception& error) {
        Origin origin = at(error.mark);
        if (error.mark.is_null()) origin = {.kind = Origin::Kind::file, .line = 1, .column = 1};
        if (find_tab(text, origin.line, origin)) {
            fail(origin, "a tab in the indentation; YAML is indented by spaces only");
        } else {
            fail(origin, "not valid YAML: " + error.msg);
        }
    }
    return builder.take();
}

}  // namespace latchd::config
