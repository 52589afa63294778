from blog import views
from django.urls import path

urlpatterns = [
    path("migrate/", views.migrate),
    path("", views.index),
    path("posts/", views.posts),
    path("posts/<int:number>/", views.post),
    path("posts/<int:number>/comments/", views.comment),
    path("authors/", views.authors),
    path("search/", views.search),
    path("upload/", views.upload),
    path("download/", views.download),
    path("visits/", views.visits),
    path("login/", views.log_in),
    path("me/", views.me),
    path("broken/", views.broken),
]
