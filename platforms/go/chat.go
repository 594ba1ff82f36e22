package sotto

// #include "bridge.h"
import "C"

import (
	"runtime"
	"strings"
)

// Text returns the text of a predefined format.
func (f ChatFormat) Text() string {
	return C.GoString(C.sotto_chat_format_text(C.sotto_chat_format(f)))
}

// Chat is a conversation over a session, whose sampler and grammar apply to the replies. It is freed when it is no
// longer reachable.
type Chat struct {
	session *Session
	handle  *C.sotto_chat
	memory  block
}

// NewChat begins a conversation. The format is the text of a predefined one, or a text of the caller. nil parameters
// select the defaults.
func (s *Session) NewChat(format string, params *ChatParams) (*Chat, error) {
	params = orDefaults(params, DefaultChatParams)
	chat := &Chat{session: s}
	_, err := s.call(func(handle *C.sotto_session) (C.sotto_status, *C.sotto_error) {
		given, details, size := defaultChatParamsC(), newError(), C.size_t(0)
		params.fill(&given)
		status := C.sotto_chat_memory_size(handle, &given, &size, &details)
		if status < 0 {
			return status, &details
		}
		memory, err := newBlock(size)
		if err != nil {
			return C.SOTTO_MEMORY_TOO_SMALL, nil
		}
		text, textSize := charsOf(format)
		status = C.sotto_chat_init(handle, &given, text, textSize, memory.address, size, &chat.handle, &details)
		if status < 0 {
			memory.free()
			return status, &details
		}
		chat.memory = memory
		return status, nil
	})
	if err != nil {
		return nil, err
	}
	runtime.SetFinalizer(chat, func(c *Chat) { c.memory.free() })
	return chat, nil
}

func (c *Chat) call(f func(details *C.sotto_error) C.sotto_status) (Status, error) {
	defer runtime.KeepAlive(c)
	return c.session.call(func(*C.sotto_session) (C.sotto_status, *C.sotto_error) {
		details := newError()
		return f(&details), &details
	})
}

// Reply generates a reply and returns its text. onPiece may be nil; it receives each piece, and ends the reply by
// returning true.
func (c *Chat) Reply(maxTokens int, onPiece func(Piece) (stop bool)) (string, Status, error) {
	var text strings.Builder
	status, err := c.ReplyWith(maxTokens, func(piece Piece) bool {
		text.WriteString(piece.Text)
		return onPiece != nil && onPiece(piece)
	})
	return text.String(), status, err
}

// Methods of sotto_chat, written by capi/generate from capi/params.

// SetStops sets the stops of the session, and adds the string that ends a reply.
func (c *Chat) SetStops(params *StopParams) error {
	params = orDefaults(params, DefaultStopParams)
	var a arena
	defer a.free()
	_, err := c.call(func(details *C.sotto_error) C.sotto_status {
		given := defaultStopParamsC()
		params.fill(&given, &a)
		return C.sotto_chat_set_stops(c.handle, &given, details)
	})
	return err
}

// Add adds a message. A system message replaces an earlier one.
func (c *Chat) Add(role ChatRole, text string) error {
	_, err := c.call(func(details *C.sotto_error) C.sotto_status {
		textChars, textSize := charsOf(text)
		return C.sotto_chat_add(c.handle, C.sotto_chat_role(role), textChars, textSize, details)
	})
	return err
}

// Reset removes all messages.
func (c *Chat) Reset() error {
	_, err := c.call(func(*C.sotto_error) C.sotto_status {
		C.sotto_chat_reset(c.handle)
		return C.SOTTO_OK
	})
	return err
}

// Info returns the state of the conversation.
func (c *Chat) Info() (ChatInfo, error) {
	info := C.sotto_chat_info{struct_size: C.sizeof_sotto_chat_info}
	_, err := c.call(func(*C.sotto_error) C.sotto_status {
		return C.sotto_chat_get_info(c.handle, &info)
	})
	return newChatInfo(&info), err
}

// Undo removes the last turn.
func (c *Chat) Undo() error {
	_, err := c.call(func(details *C.sotto_error) C.sotto_status {
		return C.sotto_chat_undo(c.handle, 0, details)
	})
	return err
}

// UndoReply removes the last reply. Another one can then be generated.
func (c *Chat) UndoReply() error {
	_, err := c.call(func(details *C.sotto_error) C.sotto_status {
		return C.sotto_chat_undo(c.handle, 1, details)
	})
	return err
}

// ReplyWith generates a reply. It calls onPiece, which may be nil, with each piece until it returns true, and returns
// the reason why the text ended. There is no limit if maxTokens is NoLimit.
func (c *Chat) ReplyWith(maxTokens int, onPiece func(Piece) (stop bool)) (Status, error) {
	size, err := limit(maxTokens)
	if err != nil {
		return 0, err
	}
	return c.call(func(details *C.sotto_error) C.sotto_status {
		calls := c.session.core.callbacks
		calls.piece = onPiece
		defer func() { calls.piece = nil }()
		return C.sotto_go_chat_reply(c.handle, size, calls.pieces(), details)
	})
}

// Save returns the messages as bytes, the same on every platform.
func (c *Chat) Save() ([]byte, error) {
	var data []byte
	_, err := c.call(func(*C.sotto_error) C.sotto_status {
		var size C.size_t
		C.sotto_chat_save(c.handle, nil, 0, &size)
		data = make([]byte, size)
		return C.sotto_chat_save(c.handle, bytesOf(data), size, &size)
	})
	return data, err
}

// Restore restores saved messages. The state is validated, so it may come from an untrusted source.
func (c *Chat) Restore(state []byte) error {
	_, err := c.call(func(details *C.sotto_error) C.sotto_status {
		return C.sotto_chat_restore(c.handle, bytesOf(state), C.size_t(len(state)), details)
	})
	return err
}

// End of the generated methods.
