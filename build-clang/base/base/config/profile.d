build-clang/base/base/config/profile.o: ref/base/config/profile.c \
  ref/base/config/profile.h

ref/base/config/profile.h:
