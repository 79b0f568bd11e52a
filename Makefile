.PHONY: build test
build:
	cmake --preset release >/dev/null && cmake --build build/release
test:
	cmake --preset asan >/dev/null && cmake --build build/asan && ctest --test-dir build/asan --output-on-failure
